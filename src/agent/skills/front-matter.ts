// Parses a SKILL.md file into its fields and body. Errors say what is wrong and how to fix it.
import { parse } from 'yaml'
import { cut, type Fields, fieldsOf, isFields, oneLine } from '../../lib/index.ts'

/** The fields and the body of a SKILL.md file. */
export type SkillText = {
  readonly name: string
  readonly description: string
  readonly license?: string
  readonly allowedTools?: readonly string[]
  readonly metadata?: Fields
  /** Only the user may start it, never the model. */
  readonly isForUserOnly: boolean
}

/** In characters; the limit of the skill format. */
const MAX_DESCRIPTION_LENGTH = 1024
/** In characters, because parsing YAML takes time quadratic in its keys. */
const MAX_FRONT_MATTER_LENGTH = 16_000

const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/
const NAME = /^[\p{L}\p{N}_.-]{1,64}$/u

/** Parses a SKILL.md file. Throws an error that says what is wrong. */
export function readSkillText(text: string): SkillText {
  const fields = frontMatter(text)
  const { license, metadata } = fields
  const allowed = fields['allowed-tools']
  return {
    name: checkedName(required(fields, 'name')),
    description: checkedDescription(required(fields, 'description')),
    ...(typeof license === 'string' ? { license } : {}),
    ...(allowed === undefined ? {} : { allowedTools: toolNames(allowed) }),
    ...(isFields(metadata) ? { metadata } : {}),
    isForUserOnly: fields['disable-model-invocation'] === true,
  }
}

/** Returns a skill's text without its front matter. */
export function bodyOf(text: string): string {
  return text.replace(FRONT_MATTER, '').trim()
}

/** Returns a valid skill name unchanged; throws for any other. */
export function checkedName(name: string): string {
  if (NAME.test(name)) return name
  const shown = oneLine(name, 80)
  throw new Error(`the name "${shown}" is invalid; use up to 64 letters, digits, "-", "_" and "."`)
}

/** Returns a description on one line and within the limit. */
export function checkedDescription(description: string): string {
  return cut(description.replace(/\s+/gu, ' ').trim(), MAX_DESCRIPTION_LENGTH)
}

function frontMatter(text: string): Fields {
  const found = FRONT_MATTER.exec(text)
  if (!found)
    throw new Error('it has no front matter; begin it with a line "---", name, description and a line "---"')
  const yaml = found[1] ?? ''
  if (yaml.length > MAX_FRONT_MATTER_LENGTH)
    throw new Error(
      `its front matter has ${yaml.length} characters; shorten it to ${MAX_FRONT_MATTER_LENGTH} and move the rest into the text below it`,
    )
  return fieldsOf(parsed(yaml))
}

function parsed(yaml: string): unknown {
  try {
    return parse(yaml, { logLevel: 'error' })
  } catch (error) {
    const reason = oneLine((error as Error).message.split('\n')[0], 200).replace(/:$/, '')
    throw new Error(`its front matter is not valid YAML (${reason}); quote values that contain ": " or "#"`)
  }
}

function required(fields: Fields, field: string): string {
  const value = fields[field]
  const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
  if (text === '') throw new Error(`its front matter has no ${field}; add a line "${field}: …"`)
  return text
}

/** Reads a list, or names separated by spaces or commas; `Bash(git *)` is one name. */
function toolNames(value: unknown): string[] {
  if (Array.isArray(value)) return value.map(String)
  return typeof value === 'string' ? (value.match(/[^\s,(]+(?:\([^)]*\))?/g) ?? []) : []
}
