// Makes reference/options.md from the doc comments of `Shelf` and of the options of `createShelf`. Part of
// `npm run reference`.
import type { FieldDoc, TypeDoc } from './type-docs.ts'

const SHELF = 'core/src/shelf.ts#Shelf'
const REASON = 'core/src/types.ts#DecisionReason'
// In the order of the page. Of options that are declared twice the later type counts: it is what users pass.
const OPTIONS = [
  'core/src/shelf.ts#PureShelfOptions',
  'core/src/options.ts#Settings',
  'core/src/options.ts#Services',
  'core/src/options.ts#Options',
  'core/src/index.ts#ShelfOptions',
]

/** The types that the page is made of, as `readTypes` takes them. */
export const optionsPageTypes: readonly string[] = [SHELF, REASON, ...OPTIONS]

/** `docs`: the types of `optionsPageTypes`, in that order. */
export function optionsPage(docs: readonly TypeDoc[]): string {
  const [shelf, reason, ...optionTypes] = docs
  const fieldsIn = (doc: TypeDoc | undefined) => doc?.variants.flatMap(({ fields }) => fields) ?? []
  const options = new Map<string, FieldDoc>()
  for (const field of optionTypes.flatMap(fieldsIn)) options.set(field.name, field)
  return [
    '# Library reference: calls and options',
    introduction,
    '## Calls',
    callTable(fieldsIn(shelf)),
    '## Options',
    optionsText,
    optionTable([...options.values()]),
    killSwitch,
    '## Reasons',
    reasons(reason),
    '',
  ]
    .join('\n\n')
    .trimEnd()
    .concat('\n')
}

const introduction = `[The guide](../docs/guides/library.md) shows how they fit together and explains the wires. [Events](events.md) has what \`trace\` receives,
[other entry points](entries.md) the options of \`@toolshelf/mcp\`, \`@toolshelf/messages\` and \`@toolshelf/agent\`.
Generated from the code by \`npm run reference\`.`

const optionsText = `\`createShelf\` takes these, all optional. [Search](../docs/search.md) has the names for \`rank\`,
[Long results](../docs/guides/results-and-scripts.md#long-results) explains \`results\`.`

const killSwitch =
  '`TOOLSHELF_DISABLE_BETAS=1` (or `CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS=1`) turns tool search off and overrides every setting.'

function reasons(reason: TypeDoc | undefined): string {
  const names = (reason?.text ?? '').split(' | ').map((name) => `\`${name.replaceAll("'", '')}\``)
  return `\`prepared.decision.reason\` says why tool search is on or off: ${names.join(', ')}. \`open\` means on; every other reason means that every definition is sent.`
}

function callTable(methods: readonly FieldDoc[]): string {
  const rows = methods.map(
    ({ name, parameters, about }) =>
      `| \`shelf.${name}${parameters ? `(${parameters.join(', ')})` : ''}\` | ${about} |`,
  )
  return ['| Call | What it does |', '|---|---|', ...rows].join('\n')
}

function optionTable(fields: readonly FieldDoc[]): string {
  const rows = fields.map(({ name, type, about }) => {
    const { text, value } = splitDefault(about)
    return `| \`${name}\` | \`${withoutUndefined(type).replaceAll('|', '\\|')}\` | ${value} | ${text} |`
  })
  return ['| Option | Type | Default | |', '|---|---|---|---|', ...rows].join('\n')
}

/** Drops `| undefined`, because every option may be left out. */
const withoutUndefined = (type: string) => type.replace(/ \| undefined$/, '').replace(/^\((.*)\)$/, '$1')

/** Takes the closing sentence "Default: …." out of a comment; without one there is no value by default. */
function splitDefault(about: string): { readonly text: string; readonly value: string } {
  const [, text, value] = /^(.*?) Default:? ?(.*)\.$/s.exec(about) ?? []
  return text === undefined || value === undefined ? { text: about, value: 'none' } : { text, value }
}
