// The map: all rows of the graph from top to bottom, whether they are open or not, and a frame around those in sight.
const map = byId('map');
const mapped = document.createElement('canvas');

function mapColors() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  return { heat: [0, 1, 2, 3, 4].map((i) => color('--map' + i)), plain: color('--line'), unmatched: color('--map-unmatched'), found: color('--link'), frame: color('--text') };
}

// How much a row is to be seen where many share a line: suspicious ones above all.
function mapRank(row) {
  const category = graph.category[row], none = graph.levels.length;
  if (graph.overflow[row] > 0) return 2 * graph.overflow[row];
  if (category < none) return graph.levels[category].heat === 0 ? 1 : 1.5 + graph.levels[category].heat;
  return category === none ? 0 : 1.4;
}

// How much of the map the rows of a small graph need.
const mapHeight = () => Math.min(map.clientHeight, graph.count * 12);

function drawMap() {
  if (!graph.ready || map.clientHeight === 0) return;
  const ratio = window.devicePixelRatio || 1;
  const width = mapped.width = map.width = Math.round(map.clientWidth * ratio);
  const height = mapped.height = map.height = Math.round(map.clientHeight * ratio);
  const pen = mapped.getContext('2d');
  const colors = mapColors();
  const colorOf = (row) => {
    const category = graph.category[row], none = graph.levels.length;
    if (graph.overflow[row] > 0 && (category >= none || graph.overflow[row] === 3)) return colors.heat[[0, 1, 3, 4][graph.overflow[row]]];
    return category < none ? colors.heat[graph.levels[category].heat] : category === none ? colors.plain : colors.unmatched;
  };
  const lines = Math.max(1, Math.min(graph.count, Math.floor(height / 2)));
  const each = mapHeight() * ratio / lines;
  const sides = graph.compared ? 2 : 1;
  const margin = Math.round(6 * ratio);
  const bad = [];  // drawn last and at least three pixels high, so that one is seen among thousands
  for (let line = 0; line < lines; ++line) {
    const begin = Math.floor(line * graph.count / lines), until = Math.max(begin + 1, Math.floor((line + 1) * graph.count / lines));
    for (let side = 0; side < sides; ++side) {
      let worst = -1, depth = Infinity, wanted = false;
      for (let row = begin; row < until; ++row) {
        if (view.found && view.found[row]) wanted = true;
        if (graph.node[side][row] < 0) continue;
        if (graph.depth[row] < depth) depth = graph.depth[row];
        if (worst < 0 || mapRank(row) > mapRank(worst)) worst = row;
      }
      if (worst < 0) continue;
      const half = (width - margin) / sides;
      const left = margin + side * half + Math.min(half / 2, depth * ratio);
      pen.globalAlpha = view.keep && !view.keep[worst] ? .25 : 1;
      pen.fillStyle = colorOf(worst);
      const right = half * (side + 1) + margin - left - ratio;
      pen.fillRect(left, line * each, right, Math.max(1, each - (each > 3 ? 1 : 0)));
      if (mapRank(worst) > 3 && each < 3 * ratio) bad.push([pen.fillStyle, left, line * each, right]);
      pen.globalAlpha = 1;
      if (wanted) { pen.fillStyle = colors.found; pen.fillRect(0, line * each, margin - 2 * ratio, Math.max(2, each - 1)); }
    }
  }
  for (const [color, left, top, right] of bad) {
    pen.fillStyle = color;
    pen.fillRect(left, top - ratio / 2, right, 3 * ratio);
  }
  drawFrame();
}

function drawFrame() {
  if (mapped.height === 0 || map.height === 0 || view.count === 0) return;
  const pen = map.getContext('2d');
  pen.clearRect(0, 0, map.width, map.height);
  pen.drawImage(mapped, 0, 0);
  const first = view.rows[placeAt(topInSight())];
  const lastRow = view.rows[placeAt(topInSight() + scroller.clientHeight - 1)];
  const until = view.open[lastRow] ? lastRow + 1 : graph.end[lastRow];
  const ratio = window.devicePixelRatio || 1;
  const scale = mapHeight() * ratio / graph.count;
  pen.strokeStyle = mapColors().frame;
  pen.lineWidth = 1.5 * ratio;
  const height = Math.max(6 * ratio, (until - first) * scale);
  pen.strokeRect(ratio, Math.min(first * scale + ratio, map.height - height), map.width - 2 * ratio, height - 2 * ratio);
}

// Where the pointer is: a suspicious row within three lines, else whatever lies there.
function showMapped(event) {
  const share = (event.clientY - map.getBoundingClientRect().top) / mapHeight();
  const row = Math.max(0, Math.min(graph.count - 1, Math.floor(share * graph.count)));
  const near = 3 / mapHeight() * graph.count;
  const close = graph.suspicious.filter((one) => Math.abs(one - row) <= near);
  if (event.type === 'click' && close.length > 0) return select(close[0]);
  let above = row;
  while (above > 0 && view.place[above] < 0) above = graph.parent[above] >= 0 ? graph.parent[above] : above - 1;
  if (view.place[above] >= 0) scrollToTop(view.top[view.place[above]] - scroller.clientHeight / 2);
}
map.addEventListener('click', showMapped);
map.addEventListener('pointermove', (event) => { if (event.buttons === 1) showMapped(event); });
