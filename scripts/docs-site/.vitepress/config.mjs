// Settings of the documentation site. Search runs in the browser, and no page requests anything from another host.
const guides = [
  { text: 'MCP gateway', link: '/docs/guides/mcp-gateway' },
  { text: 'Messages gateway', link: '/docs/guides/messages-gateway' },
  { text: 'Teams', link: '/docs/guides/teams' },
  { text: 'Long results', link: '/docs/guides/results' },
  { text: 'Library', link: '/docs/guides/library' },
  { text: 'Agent', link: '/docs/guides/agent' },
  { text: 'Inspector', link: '/docs/guides/inspector' },
  { text: 'Scripts', link: '/docs/guides/scripts' },
  { text: 'Operating', link: '/docs/guides/operating' },
  { text: 'Replicas', link: '/docs/guides/replicas' },
  { text: 'Observability', link: '/docs/guides/observability' },
  { text: 'Capacity', link: '/docs/guides/capacity' },
  { text: 'Containers', link: '/deploy/' },
]

const clients = [
  ['Claude Code', 'claude-code'],
  ['Claude Desktop', 'claude-desktop'],
  ['Cursor', 'cursor'],
  ['VS Code', 'vs-code'],
  ['Codex', 'codex'],
  ['Gemini CLI', 'gemini-cli'],
  ['Qwen Code', 'qwen-code'],
  ['opencode', 'opencode'],
  ['Windsurf, Devin Desktop', 'windsurf'],
  ['Cline', 'cline'],
  ['Continue', 'continue'],
  ['SDKs', 'sdks'],
].map(([text, page]) => ({ text, link: `/docs/clients/${page}` }))

const sidebar = [
  {
    text: 'Start',
    items: [
      { text: 'Overview', link: '/' },
      { text: 'Getting started', link: '/docs/getting-started' },
      { text: 'FAQ', link: '/docs/faq' },
    ],
  },
  { text: 'Clients', items: [{ text: 'Set up a client', link: '/docs/clients/' }, ...clients] },
  { text: 'Guides', items: guides },
  {
    text: 'Reference',
    items: [
      { text: 'Search', link: '/docs/search' },
      { text: 'Figures', link: '/docs/figures' },
      { text: 'Security', link: '/docs/security' },
      { text: 'Limits', link: '/docs/limits' },
      { text: 'Offline scripts', link: '/docs/script' },
    ],
  },
  {
    text: 'Project',
    items: [
      { text: 'Architecture', link: '/ARCHITECTURE' },
      { text: 'Decisions', link: '/docs/decisions/' },
      { text: 'Measurements', link: '/bench/RESULTS' },
      { text: 'Changes', link: '/CHANGELOG' },
      { text: 'Contributing', link: '/CONTRIBUTING' },
      { text: 'Report a vulnerability', link: '/SECURITY' },
    ],
  },
]

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="#3451b2"><path d="M1 6h14v2H1zM1 13h14v2H1zM3 1h3v5H3zM8 3h2v3H8zM5 9h2v4H5zM10 8h3v5h-3z"/></svg>'

/** Leaves out the words of a question that every page has. Runs in the browser too, so it uses nothing from outside. */
function processTerm(term) {
  const word = term.toLowerCase()
  return /^(an?|the|how|what|which|why|where|when|do|does|can|i|is|are|it|its|my|to|of|in|on|for|with|without)$/.test(
    word,
  )
    ? null
    : word
}

/** Ranks pages for users above those for readers of the code. Runs in the browser too. */
function boostDocument(id) {
  if (/^\/(ARCHITECTURE|CHANGELOG|CONTRIBUTING|bench\/|docs\/decisions)/.test(id)) return 0.25
  if (/^\/docs\/(faq|getting-started|clients\/#)/.test(id)) return 2
  if (/^\/docs\/clients\/([\w-]+)\.html#\1$/.test(id)) return 3
  return /^\/docs\/guides\//.test(id) ? 1.5 : 1
}

/** Anchors are the same here and on GitHub. */
function asGitHub(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')
}

export default {
  title: 'Toolshelf',
  description: 'Tool search for agents with many tools',
  lang: 'en',
  srcDir: 'pages',
  outDir: '../../site',
  cacheDir: 'node_modules/.vitepress',
  head: [
    ['meta', { name: 'referrer', content: 'no-referrer' }],
    ['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }],
  ],
  markdown: { html: false, anchor: { slugify: asGitHub } },
  themeConfig: {
    nav: [
      { text: 'Getting started', link: '/docs/getting-started' },
      { text: 'Clients', link: '/docs/clients/' },
      { text: 'Library', link: '/docs/guides/library' },
    ],
    sidebar,
    outline: [2, 3],
    search: {
      provider: 'local',
      options: { miniSearch: { options: { processTerm }, searchOptions: { boostDocument } } },
    },
  },
}
