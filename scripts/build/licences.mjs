// Lists every package of others whose code is bundled, with its whole licence. The build fails for one without a licence.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Copyright lines of packages under the MIT licence that ship no licence file. */
const COPYRIGHTS = {
  '@redis/client': 'Copyright (c) 2022-2025, Redis, inc.',
  standardwebhooks: 'Copyright (c) 2023 Svix (https://www.svix.com)',
  'yoga-layout': 'Copyright (c) Meta Platforms, Inc. and affiliates.',
}

const PACKAGE = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//
/** What the MCP SDK was bundled from, by the marks its own bundler left. */
const INNER_PACKAGE = /^\s*\/\/#region .*node_modules\/\.pnpm\/(@?[^@\s]+)@([\w.-]+)/gm

export async function writeLicences({ root, metafile, file }) {
  const packages = [...packagesIn(root, metafile).values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  if (packages.length === 0) return
  const parts = packages.map(({ name, version, licence, text }) =>
    [`${name} ${version} (${licence})`, text.trim()].join('\n\n'),
  )
  const head = `Toolshelf is bundled with the ${packages.length} packages below. Each is under its own licence, given in full.`
  await writeFile(file, `${[head, ...parts].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`)
}

function packagesIn(root, metafile) {
  const found = new Map()
  for (const input of contributing(metafile)) {
    const [, folder, name] = PACKAGE.exec(input) ?? []
    if (folder === undefined) continue
    const path = join(root, folder)
    if (!found.has(folder)) found.set(folder, describe(name, path))
    for (const [, escaped, version] of readFileSync(join(root, input), 'utf8').matchAll(INNER_PACKAGE)) {
      const inner = escaped.replace('+', '/')
      const key = `${inner}@${version}`
      if (!found.has(key)) found.set(key, { ...describe(inner, join(root, 'node_modules', inner)), version })
    }
  }
  return found
}

function contributing({ outputs }) {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs))
  return new Set(inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path))
}

function describe(name, folder) {
  const manifest = join(folder, 'package.json')
  if (!existsSync(manifest)) throw new Error(`${name} is bundled, but ${folder} has no licence file`)
  const { version, license: licence } = JSON.parse(readFileSync(manifest, 'utf8'))
  return { name, version, licence, text: textIn(folder) ?? standardText(name, licence) }
}

/** The Apache licence requires that a NOTICE file is included too. */
function textIn(folder) {
  const files = readdirSync(folder)
    .filter((name) => /^(licen[cs]e|notice)/i.test(name))
    .sort()
  return files.length === 0
    ? undefined
    : files.map((name) => readFileSync(join(folder, name), 'utf8').trim()).join('\n\n')
}

function standardText(name, licence) {
  if (licence !== 'MIT' || !COPYRIGHTS[name])
    throw new Error(
      `${name} (${licence}) has no licence file: add its copyright line to scripts/build/licences.mjs`,
    )
  return `MIT License

${COPYRIGHTS[name]}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`
}
