// Lanes of threads: how busy each was, and the longest calls one by one.
function timeline() {
  const known = data.timeline;
  if (!known || !known.sessions.length) { document.getElementById('timeline').remove(); return; }
  const root = content('timeline');
  const canvas = make('canvas');
  const lane = 18, left = 116, top = 8, bottom = 22, gap = 26;
  const tip = document.getElementById('tip');
  let boxes = [];
  const time = (micro) => duration(micro / 1e6);
  const height = top + known.lanes.length * lane + bottom;
  function draw() {
    const width = root.clientWidth || 900;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = height + 'px';
    const paint = canvas.getContext('2d');
    paint.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const colors = {};
    const color = (name) => colors[name] ??= style.getPropertyValue('--' + name).trim();
    const shades = Array.from({ length: 10 }, (_, level) => 'rgba(' + color('busy') + ', ' + (0.15 + 0.5 * level / 9) + ')');
    paint.font = '11px system-ui, sans-serif';
    paint.textBaseline = 'middle';
    boxes = [];
    known.lanes.forEach(([device, thread], i) => {
      paint.fillStyle = color('soft');
      paint.fillText('device ' + device + ', thread ' + thread, 0, top + i * lane + lane / 2);
    });
    const all = known.sessions.reduce((sum, [, length]) => sum + length, 0);
    const room = width - left - gap * (known.sessions.length - 1) - 4;
    let x = left, piece = 0;
    known.sessions.forEach(([begin, length, pieces], session) => {
      const scale = Math.max(2, room * length / all) / length;
      known.lanes.forEach(([, , busy], i) => {
        const y = top + i * lane;
        paint.fillStyle = color('well');
        paint.fillRect(x, y + 2, length * scale, lane - 4);
        for (let k = 0; k < pieces; ++k) {
          const level = Number(busy[piece + k]);
          if (!level) continue;
          paint.fillStyle = shades[level];
          paint.fillRect(x + length * scale * k / pieces, y + 2, length * scale / pieces + 0.4, lane - 4);
        }
      });
      for (const [of, at, begin_, took, row] of known.bars) {
        if (of !== session) continue;
        const from = x + begin_ * scale, wide = Math.max(1, took * scale), y = top + at * lane + 2;
        const standing = row < 0 ? 'p' : rows.standing[row];
        paint.fillStyle = 'su'.includes(standing) ? color('red') : standing === 'f' ? color('some') : 'rgba(' + color('busy') + ', .85)';
        paint.fillRect(from, y, wide > 3 ? wide - 0.7 : wide, lane - 4);
        boxes.push([from, y, wide, lane - 4, (row < 0 ? 'a call' : nameOf(row) + ' (' + meanings[standing][0] + ')') + '\n' + time(took) + ', from ' + time(begin_) + ' on', row]);
      }
      for (const [of, at, device, reason, gone, calls] of known.deaths) {
        if (of !== session) continue;
        const to = x + at * scale;
        for (const [row, in_, from_, blamed, again] of calls) {
          if (in_ < 0) continue;
          const from = x + from_ * scale, y = top + in_ * lane + 2;
          if (again) {
            paint.fillStyle = blamed ? color('some') : 'rgba(' + color('busy') + ', .35)';
            paint.fillRect(from, y, Math.max(1, to - from), lane - 4);
            boxes.push([from, y, Math.max(3, to - from), lane - 4, (row < 0 ? 'a call' : nameOf(row)) + '\n' + reason + '; it runs again', row]);
          }
          if (blamed) {
            paint.strokeStyle = color('text');
            paint.lineWidth = 1.6;
            paint.beginPath();
            paint.moveTo(to - 4, y + 3); paint.lineTo(to + 4, y + lane - 7);
            paint.moveTo(to + 4, y + 3); paint.lineTo(to - 4, y + lane - 7);
            paint.stroke();
          }
        }
      }
      paint.fillStyle = color('soft');
      const y = height - bottom / 2;
      if (session > 0) {
        const pause = begin / 1000 - (known.sessions[session - 1][0] / 1000 + known.sessions[session - 1][1] / 1e6);
        boxes.push([x - gap, 0, gap, height, 'continued after ' + duration(Math.max(0, pause)), -1]);
        paint.fillText('\u2026', x - gap / 2 - 4, top + lane / 2);
      }
      const ticks = Math.max(1, Math.min(8, Math.floor(length * scale / 90)));
      const rough = length / ticks, power = 10 ** Math.floor(Math.log10(rough));
      const unit = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= rough);
      for (let t = 0; t <= length; t += unit) {
        paint.fillStyle = color('line');
        paint.fillRect(x + t * scale, top, 1, height - bottom - top);
        paint.fillStyle = color('soft');
        paint.fillText(t === 0 ? '0' : time(t), x + t * scale + 2, y);
      }
      x += length * scale + gap;
      piece += pieces;
    });
  }
  const find = (event) => {
    const area = canvas.getBoundingClientRect();
    const px = event.clientX - area.left, py = event.clientY - area.top;
    for (let i = boxes.length - 1; i >= 0; --i) {
      const [bx, by, bw, bh] = boxes[i];
      if (px >= bx - 1 && px <= bx + bw + 1 && py >= by && py <= by + bh) return boxes[i];
    }
    return null;
  };
  canvas.addEventListener('mousemove', (event) => {
    const box = find(event);
    tip.hidden = !box;
    if (!box) return;
    tip.textContent = box[4];
    tip.style.left = Math.min(event.clientX + 12, innerWidth - 260) + 'px';
    tip.style.top = event.clientY + 14 + 'px';
  });
  canvas.addEventListener('mouseleave', () => { tip.hidden = true; });
  canvas.addEventListener('click', (event) => { const box = find(event); if (box && box[5] >= 0) { tip.hidden = true; openCall(box[5]); } });
  const busiest = known.lanes.map(([, , busy]) => [...busy].reduce((sum, digit) => sum + Number(digit), 0) / 9 / busy.length);
  const mean = busiest.reduce((sum, share) => sum + share, 0) / busiest.length;
  const length = known.sessions.reduce((sum, [, micro]) => sum + micro, 0);
  root.append(make('p', { class: 'soft' }, plural(known.lanes.length, 'thread') + ' over ' + time(length) + ', busy ' + Math.round(100 * mean) + ' % of it. The darker a lane, the busier its thread; ' +
    'the longest calls stand out, red where they are suspicious, orange where they failed. Rest the pointer on one to read its name, click it to open it.'),
    make('div', { class: 'lanes' }, canvas));
  if (known.deaths.length) {
    root.append(make('h3', {}, 'Retries, hangs and crashes'), tableOf(['At', 'Device', 'What happened', 'Calls under way'], known.deaths.slice(0, 50).map(([, at, device, reason, gone, calls]) => {
      const list = make('span');
      calls.slice(0, 8).forEach(([row, , , blamed, again], i) => list.append(i > 0 ? ', ' : '', row < 0 ? 'a call' : callLink(row), (blamed ? ' (to blame' : ' (') + (blamed ? ', ' : '') + (again ? 'runs again)' : 'given up)')));
      if (calls.length > 8) list.append(', and ' + (calls.length - 8) + ' more');
      return { cells: [time(at), String(device), reason + (gone ? '; the device is given up' : ''), list] };
    }), ['nowrap']));
    if (known.deaths.length > 50) root.append(make('p', { class: 'soft' }, 'and ' + (known.deaths.length - 50) + ' more.'));
  }
  draw();
  addEventListener('resize', draw);
  document.addEventListener('theme', draw);
}
