// Renders the inspector's HTML: with links to its files, or with everything inlined for a page without a process.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type PageSnapshot, SNAPSHOT_ELEMENT } from '../api.ts'
import type { PageFiles } from './types.ts'

const HEAD = `<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Toolshelf inspector</title>
<link rel="icon" href="data:,">`

const BODY = `<div id="app"></div>
<noscript>The inspector needs JavaScript. It comes from this page alone and sends nothing anywhere.</noscript>`

/** The page as a process serves it. */
export const pageHtml = `<!doctype html>
<html lang="en">
<head>
${HEAD}
<link rel="stylesheet" href="page.css">
</head>
<body>
${BODY}
<script src="page.js"></script>
</body>
</html>
`

/**
 * Renders a page that needs no process and no network, and can be opened as a file: script, style and data are inside,
 * and its policy allows this very script and style alone.
 */
export function renderSnapshot(snapshot: PageSnapshot, { script, style }: PageFiles): string {
  if (/<\/script|<!--/i.test(script)) throw new Error('the page’s script would end its own element')
  if (/<\/style/i.test(style)) throw new Error('the page’s style sheet would end its own element')
  const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  return `<!doctype html>
<html lang="en">
<head>
<meta http-equiv="Content-Security-Policy" content="${policy}">
${HEAD}
<style>${style}</style>
</head>
<body>
${BODY}
<script type="application/json" id="${SNAPSHOT_ELEMENT}">${embeddedJson(snapshot)}</script>
<script>${script}</script>
</body>
</html>
`
}

/** Returns JSON that cannot end its element, begin a comment or another element, or hide a line. */
function embeddedJson(value: unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value).replace(/[<>&\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, escaped)
}

/** Where the build puts the page; in the sources there is none. */
const BUILT = new URL('../', import.meta.url)
const BUNDLER = new URL('../../../scripts/build/page.mjs', import.meta.url)

/** Loads the bundled page; from the sources, bundles it. */
export async function loadPage(): Promise<PageFiles> {
  const script = new URL('page.js', BUILT)
  if (!existsSync(script)) {
    const { bundlePage } = (await import(BUNDLER.href)) as { bundlePage: () => Promise<PageFiles> }
    return bundlePage()
  }
  const [code, style] = await Promise.all([
    readFile(script, 'utf8'),
    readFile(new URL('page.css', BUILT), 'utf8'),
  ])
  return { script: code, style }
}
