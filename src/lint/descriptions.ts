// Rules about what a tool says of itself: its description and those of its parameters.
import { fieldsOf, isFields, splitName, textOf } from '../lib/index.ts'
import type { ListedTool } from '../mcp/index.ts'
import { actionOfVerb } from '../search/index.ts'
import type { RuleId } from './rules.ts'

/** Something to report about a tool. */
export type ToolFinding = { readonly rule: RuleId; readonly message: string }

/** Characters of a description that models read; the default of the option `descriptionLimit`. */
export const MAX_DESCRIPTION_LENGTH = 2048
const MAX_NAMED = 5
/** Words in which a verb is looked for. */
const MAX_WORDS = 60

/** Returns what is wrong with a tool's description and those of its parameters. */
export function checkDescriptions(tool: ListedTool): ToolFinding[] {
  const description = textOf(tool.description).trim()
  const undescribed = undescribedParameters(tool)
  return [
    ...(description === ''
      ? [{ rule: 'description-missing', message: 'it has no description' } as const]
      : []),
    ...(description !== '' && saysNoMore(tool.name, description)
      ? [{ rule: 'description-one-word', message: 'its description says no more than its name' } as const]
      : []),
    ...(description !== '' && hasNoVerb(tool.name, description)
      ? [
          {
            rule: 'description-no-verb',
            message: 'no word of its name or description says what it does',
          } as const,
        ]
      : []),
    ...(description.length > MAX_DESCRIPTION_LENGTH
      ? [
          {
            rule: 'description-too-long',
            message: `its description has ${description.length} characters; models read ${MAX_DESCRIPTION_LENGTH}`,
          } as const,
        ]
      : []),
    ...(undescribed.length > 0
      ? [{ rule: 'parameter-undescribed', message: `without a description: ${listed(undescribed)}` } as const]
      : []),
  ]
}

/** `Search.`, or the words of the name again, as `get_user: "Get user"`. */
function saysNoMore(name: string, description: string): boolean {
  const words = wordsOf(description)
  const named = new Set(splitName(name).map((word) => word.toLowerCase()))
  // One long word may be a whole sentence of a language that is written without spaces.
  const isOneWord = words.length <= 1 && description.length <= 20 && isLatin(description)
  return isOneWord || (words.length > 0 && words.every((word) => named.has(word) || ARTICLES.has(word)))
}

const ARTICLES = new Set(['a', 'an', 'the', 'of', 'for', 'to', 'this', 'tool'])

/** Verbs are known in English only; other languages are not judged. */
function hasNoVerb(name: string, description: string): boolean {
  const words = wordsOf(description).slice(0, MAX_WORDS)
  const isEnglish = isLatin(description) && words.some((word) => COMMON.has(word))
  if (!isEnglish) return false
  const isVerb = (word: string) => actionOfVerb(word) !== undefined || OTHER_VERBS.has(word.replace(/s$/, ''))
  // "Authenticates …", "Rolling back …": verbs that are in no list.
  const [first = ''] = words
  return !/(?:s|ing|ed|ize|ise|ify|ate)$/.test(first) && ![...splitName(name), ...words].some(isVerb)
}

/** Verbs of descriptions that do not say which kind of action a tool is. */
const OTHER_VERBS = new Set(
  `open push pull perform repair apply ask authenticate authorize accept allow amend announce arrange back backup ban
  block boost bump buy capture charge chat choose clean collect combine commit complain confirm consult contain control
  create crop cut debug decide decline decode decrypt define deny dial diagnose dispatch draw dump encode encrypt end
  enrich ensure enter enumerate escalate expand explore expose fill filter fire flag flush focus follow format gather
  give go grant group guess guide handle help hide highlight hire hold identify ignore include increase index infer
  install interact introspect join jump keep learn leave let lift load login logout loop lower maintain manage map match
  measure migrate mint model navigate need obtain offer operate optimize order organize parse pay pick ping plan plot
  predict prepare process produce profile prompt propose provide put quote raise rank rate reach rebuild recommend
  refresh refund release reload render repeat report request require resize rotate round route sample scan score scrape
  seek select sell serve sign simulate sleep solve sort speak spawn split stage stream suggest supply support swap tail
  take talk tell test think throw toggle traverse try turn unblock understand undo unfollow upgrade use visit vote walk
  warm wrap zip zoom`.split(/\s+/),
)

/** Words without which hardly any English sentence is written. */
const COMMON = new Set([
  'a',
  'an',
  'the',
  'of',
  'to',
  'for',
  'in',
  'on',
  'and',
  'or',
  'with',
  'by',
  'from',
  'is',
  'all',
])

function isLatin(text: string): boolean {
  return !/[^\p{Script=Latin}\p{Script=Common}]/u.test(text)
}

function wordsOf(text: string): string[] {
  return (
    text
      .slice(0, MAX_DESCRIPTION_LENGTH)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  )
}

const MAX_PARAMETERS = 1_000

/** Names of top-level parameters without a description of their own, of their reference or of their values. */
function undescribedParameters({ inputSchema }: ListedTool): string[] {
  const properties = Object.entries(fieldsOf(fieldsOf(inputSchema).properties)).slice(0, MAX_PARAMETERS)
  return properties.filter(([, schema]) => !isDescribed(schema)).map(([name]) => name)
}

function isDescribed(schema: unknown): boolean {
  if (!isFields(schema)) return true
  const { description, title, $ref, const: only, anyOf, oneOf, allOf, items } = schema
  const parts = [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? list : [])).concat(items ?? [])
  return (
    [description, $ref].some((text) => textOf(text).trim() !== '') ||
    only !== undefined ||
    wordsOf(textOf(title)).length > 2 ||
    parts.some((part) => isFields(part) && textOf(part.description).trim() !== '')
  )
}

function listed(names: readonly string[]): string {
  const rest = names.length - MAX_NAMED
  return `${names.slice(0, MAX_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}
