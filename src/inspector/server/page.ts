// The inspector's HTML, and the files that it links to.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { PageFiles } from './types.ts'

/** The page as a process serves it. */
export const pageHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Toolshelf inspector</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="page.css">
</head>
<body>
<div id="app"></div>
<noscript>The inspector needs JavaScript. It comes from this page alone and sends nothing anywhere.</noscript>
<script src="page.js"></script>
</body>
</html>
`

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
