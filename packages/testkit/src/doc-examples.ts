// Puts the examples of the public doors' doc comments, and those of the guides, into one module, which the compiler can check.
import { readdirSync, readFileSync } from 'node:fs'
import { readFiles } from '../../../scripts/statements-page.ts'

const root = new URL('../../../', import.meta.url)

/** The public doors of all packages, by the files behind them: `core/index.ts` → `@toolshelf/core`. */
const ENTRIES: ReadonlyMap<string, string> = new Map(
  readdirSync(new URL('packages', root)).flatMap((folder) => {
    const manifest = JSON.parse(readFileSync(new URL(`packages/${folder}/package.json`, root), 'utf8'))
    const doors = Object.entries<string>(manifest.private ? {} : manifest.exports)
    return doors
      .filter(([door, file]) => file.startsWith('./src/') && !door.startsWith('./internal'))
      .map(([door, file]) => [file.replace('./src', folder), manifest.name + door.slice(1)] as const)
  }),
)

/** What the examples assume to exist: the reader's own functions, and values of earlier steps. */
const SURROUNDINGS = `
declare const client: Anthropic, shelf: Shelf, agent: Agent, prepared: Prepared, request: Anthropic.MessageCreateParamsNonStreaming
declare const reply: Anthropic.Message, call: Anthropic.ToolUseBlock, previous: Prepared, next: Prepared
declare let messages: History<Anthropic.MessageParam>
declare const model: string, tools: AgentTool[], servers: ServerConfig[], upstream: Upstream, state: State
declare const history: History<Anthropic.MessageParam>, gateway: any, host: any, makeHost: any, assert: any
declare const execute: Execute, permission: NonNullable<AgentOptions['permission']>
declare const myTools: Record<string, (input: unknown) => string>, tool: Tool
declare function confirm(question: string): Promise<boolean>
declare function expect(value: unknown): { toEqual(value: unknown): void; toBeUndefined(): void; toContain(value: unknown): void }
declare function runTool(call: ToolUse): Promise<ToolResult>
declare function summaryOf(messages: readonly object[]): string
declare function translated(query: string): string
declare const myValidator: NonNullable<PureShelfOptions['validate']>
`

/** The example in the doc comment of a declaration, or of a method of `Shelf`. */
const EXAMPLE =
  /@example\n((?:(?!\*\/).)*)\*\/\n(?:export (?:async )?(?:function|const|type) | {2}(?=\w+[<(]))(\w+)/gs
const EXPORTED = /^export (?:type )?\{([^}]*)\}/gms

/** The names that an entry exports, and those that it declares itself. */
function exportedBy(text: string): string[] {
  const listed = [...text.matchAll(EXPORTED)].flatMap(([, list = '']) => list.split(','))
  const declared = [...text.matchAll(/^export (?:async )?(?:function|type) (\w+)/gm)].map(
    ([, name = '']) => name,
  )
  return [...listed.map((name) => name.replace('type ', '').trim()), ...declared].filter(
    (name) => name !== '',
  )
}

/** Returns how many examples there are, and a module in which each is a function of its own. */
export function docExamples(): { readonly count: number; readonly module: string } {
  const files = readFiles('packages').map(({ path, text }) => ({
    path: path.replace(/^packages\/(\w+)\/src\//, '$1/'),
    text,
  }))
  const doors = new Map<string, string>()
  for (const [path, entry] of ENTRIES) {
    const text = files.find((file) => file.path === path)?.text ?? ''
    for (const name of exportedBy(text)) if (!doors.has(name)) doors.set(name, entry)
  }
  const bodies = files.flatMap(({ path, text }) =>
    [...text.matchAll(EXAMPLE)].flatMap(([, comment = '', name = '']) => {
      const isDoor = doors.has(name) || path === 'core/shelf.ts'
      return isDoor ? [`// ${path}: ${name}\n${comment.replaceAll(/^ *\*(?: |$)/gm, '').trimEnd()}`] : []
    }),
  )
  const guides = new URL('docs/guides/', root)
  for (const name of readdirSync(guides))
    for (const [, block = ''] of readFileSync(new URL(name, guides), 'utf8').matchAll(/^```ts\n(.*?)^```/gms))
      if (block.includes("from '@toolshelf/")) bodies.push(`// ${name}\n${block}`)
  const functions = bodies.map((body, index) => `export async function example${index}() {\n${body}\n}`)
  const whole = [SURROUNDINGS, ...functions].join('\n')
  // What an example imports itself is imported anyway, at the top; here only to see that its door has it.
  const own = [...whole.matchAll(/^import \{(.*)\} (from '@toolshelf\/.*)$/gm)].map(
    ([, names = '', from], index) =>
      `import {${names.replaceAll(/(\w+)(?=\s*(?:,|$))/g, `$1 as $1_${index}`)}} ${from}`,
  )
  const code = whole.replaceAll(/^import .*$/gm, '')
  const used = [...doors].filter(([name]) => new RegExp(`\\b${name}\\b`).test(code))
  const imports = used.map(([name, entry]) => `import { ${name} } from '${entry}'`)
  const module = ["import Anthropic from '@anthropic-ai/sdk'", ...imports, ...own, code].join('\n')
  return { count: bodies.length, module }
}
