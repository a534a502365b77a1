// Writes a definition as a signature with one line per argument, in a fraction of the tokens of its JSON. Used only if a
// valid call can be written from the signature alone; cuts longer texts and rare details, and marks them with `…`.
// Implements S17.
import { fieldsOf, toJson } from '../lib/json.ts'
import { oncePerFrozen } from '../lib/objects.ts'
import { oneLine } from '../lib/text.ts'
import type { Definition } from '../types.ts'
import { compactType, fieldOf, nameText, requiredNames } from './compact-type.ts'

const MAX_DESCRIPTION = 400
const MAX_REMARK = 120
const MAX_DEFAULT = 60
/** Optional arguments to show with types; of further ones only the names. */
const MAX_TYPED = 40
const MAX_NAMED = 200

/**
 * Returns the signature, such as
 *
 *     github__create_issue: Creates an issue.
 *       owner: string // The account
 *       state?: "open" | "closed" = "open"
 *
 * Undefined if it says too little for a valid call, or is not shorter than the JSON.
 */
export const compactDefinition = oncePerFrozen((definition: Definition): string | undefined => {
  const { name, description } = definition
  const root = fieldsOf(definition.input_schema)
  const required = requiredNames(root)
  const whole = compactType({ ...root, properties: pick(root, required) }, root)
  if (!whole.isEnough) return undefined
  const optional = Object.keys(fieldsOf(root.properties)).filter((one) => !required.includes(one))
  const lines = [
    `${name}: ${oneLine(description ?? '', MAX_DESCRIPTION)}`.trimEnd(),
    ...required.map((one) => `  ${nameText(one)}: ${argument(fieldOf(root, one), root, true)}`),
    ...optional
      .slice(0, MAX_TYPED)
      .map((one) => `  ${nameText(one)}?: ${argument(fieldOf(root, one), root, false)}`),
    ...further(optional.slice(MAX_TYPED)),
  ]
  const text = lines.join('\n')
  return text.length < toJson(definition).length ? text : undefined
})

function argument(schema: unknown, root: ReturnType<typeof fieldsOf>, isRequired: boolean): string {
  const { description, default: usual } = fieldsOf(schema)
  const value = usual === undefined || usual === null || isRequired ? '' : toJson(usual)
  const remark = typeof description === 'string' ? oneLine(description, MAX_REMARK) : ''
  return [
    compactType(schema, root).text,
    ...(value !== '' && value.length <= MAX_DEFAULT ? [`= ${value}`] : []),
    ...(remark === '' ? [] : [`// ${remark}`]),
  ].join(' ')
}

function further(names: readonly string[]): string[] {
  if (names.length === 0) return []
  const rest = names.length - MAX_NAMED
  const shown = names.slice(0, MAX_NAMED).map((name) => nameText(name.slice(0, 100)))
  return [`  … also optional: ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`]
}

function pick(root: ReturnType<typeof fieldsOf>, names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, fieldOf(root, name)]))
}
