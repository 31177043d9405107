-- What pandoc does to a page: links to Markdown files lead to their pages, links to what is not part of the pages become plain
-- text, headings have a link to themselves, and comments, which are for the tests, are left out. What there is comes by
-- variables of the environment, paths from the top of the sources: MSRUN_NAVIGATION names the file that lists all pages,
-- MSRUN_FILES other files that are copied beside them, MSRUN_PAGE is the page that is made.
local page = os.getenv("MSRUN_PAGE")
local root = page:gsub("[^/]+/", "../"):gsub("[^/]*$", "")

local files = {}
for file in os.getenv("MSRUN_FILES"):gmatch("[^;]+") do files[file] = true end

local function html_name(path) return (path:gsub("README%.md$", "index.html"):gsub("%.md$", ".html")) end

local function escaped(text) return (text:gsub("&", "&amp;"):gsub("<", "&lt;")) end

local pages = {}
local function navigation()
  local markup = {}
  for line in io.lines(os.getenv("MSRUN_NAVIGATION")) do
    local path, title = line:match("^  (%S+) (.+)$")
    if path then
      pages[path] = true
      local current = path == page and ' aria-current="page"' or ""
      table.insert(markup, '<li><a href="' .. root .. html_name(path) .. '"' .. current .. ">" .. escaped(title) .. "</a></li>")
    else
      table.insert(markup, (#markup > 0 and "</ul>\n" or "") .. "<h2>" .. escaped(line) .. "</h2>\n<ul>")
    end
  end
  return table.concat(markup, "\n") .. "\n</ul>"
end
local navigation_markup = navigation()

-- "docs/../journal/format.md" -> "journal/format.md".
local function resolved(path)
  local parts = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." then
      table.remove(parts)
    elseif part ~= "." then
      table.insert(parts, part)
    end
  end
  return table.concat(parts, "/")
end

-- Where a link of the page leads; nil: nowhere within the pages.
local function target_of(link)
  if link:match("^%a[%w+.-]*:") or link:match("^#") then return link end
  local path, fragment = link:match("^([^#]*)(.*)$")
  local target = resolved((page:match("^(.*/)") or "") .. path)
  if files[target] then return link end
  if not pages[target] then return nil end
  return html_name(path) .. fragment
end

function Link(link)
  local target = target_of(link.target)
  if target == nil then return link.content end
  link.target = target
  return link
end

function Header(header)
  if header.level == 1 or header.identifier == "" then return nil end
  header.content:insert(pandoc.Link("", "#" .. header.identifier, "Link to this section", {class = "anchor"}))
  return header
end

local function is_comment(raw) return raw.format:match("html") and raw.text:match("^%s*<!%-%-.*%-%->%s*$") end
function RawBlock(raw) return is_comment(raw) and {} or nil end
function RawInline(raw) return is_comment(raw) and {} or nil end

-- The title of the page is its first heading, which stands in front of the contents.
function Pandoc(document)
  for i, block in ipairs(document.blocks) do
    if block.t == "Header" then
      document.meta.pagetitle = pandoc.utils.stringify(block.content)
      document.meta.heading = pandoc.MetaBlocks({block})
      document.blocks:remove(i)
      break
    end
  end
  document.meta.root = root
  document.meta.navigation = pandoc.RawInline("html", navigation_markup)
  return document
end
-- Wide tables scroll by themselves.
function Table(table) return pandoc.Div({table}, {class = "scroll"}) end
