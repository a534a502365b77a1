// Converts HTML to readable text in one pass: keeps headings, lists, links and paragraphs; drops scripts, styles and tags.

const SILENT = new Set(['script', 'style', 'noscript', 'template', 'svg', 'head', 'iframe'])
const BREAKS =
  /^(p|div|section|article|header|footer|main|nav|aside|table|tr|ul|ol|dl|dt|dd|pre|blockquote|form|h[1-6]|br|hr|li|option|figure)$/
const ENTITIES: { readonly [name: string]: string } = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  copy: '©',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  rsquo: '’',
  lsquo: '‘',
  rdquo: '”',
  ldquo: '“',
  middot: '·',
  bull: '•',
}

/** Returns the text of an HTML document, with Markdown-like headings, lists and links. */
export function readableText(html: string): string {
  const parts: string[] = []
  const lower = html.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  const links: string[] = []
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    parts.push(entities(html.slice(at, open === -1 ? html.length : open).replace(/\s+/g, ' ')))
    if (open === -1) break
    if (html.startsWith('<!--', open)) {
      at = after(html, '-->', open)
      continue
    }
    const [, slash, name = ''] = /^<(\/?)([a-z][a-z0-9]*)/.exec(lower.slice(open, open + 20)) ?? []
    if (name === '' && !/^<[!?/]/.test(html.slice(open, open + 2))) {
      parts.push('<')
      at = open + 1
      continue
    }
    const end = after(html, '>', open)
    const isEnd = slash === '/'
    at = SILENT.has(name) && !isEnd ? after(lower, `</${name}`, end, '>') : end
    if (name === 'a') parts.push(isEnd ? (links.pop() ?? '') : remember(html.slice(open, end), links))
    else if (BREAKS.test(name)) parts.push(isEnd ? '\n' : startOf(name))
    else if (name === 'td' || name === 'th') parts.push(isEnd ? ' | ' : '')
  }
  return tidy(parts.join(''))
}

/** Returns the index after the next `mark`, or after the `then` that follows it; the end if there is none. */
function after(text: string, mark: string, from: number, then?: string): number {
  const found = text.indexOf(mark, from)
  if (found === -1) return text.length
  return then === undefined ? found + mark.length : after(text, then, found)
}

function remember(tag: string, links: string[]): string {
  const address = /\bhref\s*=\s*["']?([^"'\s>]+)/i.exec(tag)?.[1] ?? ''
  links.push(/^https?:/i.test(address) ? ` (${entities(address)})` : '')
  return ''
}

function startOf(name: string): string {
  if (name === 'li') return '\n- '
  return /^h[1-6]$/.test(name) ? `\n\n${'#'.repeat(Number(name[1]))} ` : '\n'
}

function entities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : undefined
    if (code !== undefined) return code <= 0x10ffff ? String.fromCodePoint(code) : whole
    return (Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined) ?? whole
  })
}

function tidy(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replace(/[ \t\u00a0]+/g, ' ').trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
