// Fits the tools that a search found into a budget: whole definitions first, then signatures, then names (S17).
// Implements S17.
import type { Definition } from '../types.ts'
import { signatureOf } from './signature.ts'

/** A tool's definition and its JSON. */
type FittableTool = { readonly name: string; readonly definition: Definition; readonly json: string }

/** How much of each tool an answer shows. */
type Fitted<Tool extends FittableTool> = {
  /** Tools whose whole definition fits, best first. */
  readonly whole: readonly Tool[]
  /** The other tools, best first. */
  readonly shortened: readonly Tool[]
  /** Lists the shortened tools and says how to get their whole definitions; empty if all are whole. */
  readonly text: string
}

/** Levels of detail, from least to most. */
const DETAILS = ['unnamed', 'name', 'signature', 'whole'] as const
type Detail = (typeof DETAILS)[number]

/** Share of the budget for whole definitions while other tools have no signature. */
const WHOLE_SHARE = 0.75

/**
 * Chooses how much of each tool an answer shows, within `budget` characters in total. A tool that was found alone is
 * always whole.
 *
 * @param howToSelect - Explains to the model how to get one whole definition.
 * @param textOf - How the answer shows a definition: as JSON, or compact.
 */
export function fitTools<Tool extends FittableTool>(
  tools: readonly Tool[],
  budget: number,
  howToSelect: string,
  textOf: (tool: Tool) => string = ({ json }) => json,
): Fitted<Tool> {
  const total = tools.reduce((sum, tool) => sum + sizeOf(wholeForm(tool, textOf(tool))), 0)
  if (tools.length <= 1 || total <= budget) return { whole: tools, shortened: [], text: '' }
  const forms = tools.map((tool) => formsOf(tool, textOf(tool)))
  const ends = [heading(howToSelect), unnamed(tools.length)].reduce((sum, line) => sum + sizeOf(line), 0)
  const details = chooseDetails(forms, budget - ends)
  const isWhole = (_: Tool, index: number) => details[index] === 'whole'
  return {
    whole: tools.filter(isWhole),
    shortened: tools.filter((tool, index) => !isWhole(tool, index)),
    text: write(forms, details, howToSelect),
  }
}

/** A tool's line at each level of detail; undefined if it has none. */
type Forms = { readonly [detail in Detail]: string | undefined }

function formsOf(tool: FittableTool, text: string): Forms {
  const signature = signatureOf(tool.definition)
  return {
    unnamed: '',
    name: `- ${tool.name} [name only]`,
    signature: signature === undefined ? undefined : `- [shortened] ${signature}`,
    whole: wholeForm(tool, text),
  }
}

/** Returns the definition with the name, because a note in front of the definitions lists it. */
function wholeForm({ name }: FittableTool, text: string): string {
  return `${name}\n${text}`
}

function chooseDetails(forms: readonly Forms[], room: number): readonly Detail[] {
  const details: Detail[] = forms.map(() => 'unnamed')
  let used = 0
  const raise = (detail: Detail, limit: number) => {
    for (const [index, form] of forms.entries()) {
      const present = details[index] ?? 'unnamed'
      const isRaised = DETAILS.indexOf(present) >= DETAILS.indexOf(detail)
      const growth = sizeOf(form[detail]) - sizeOf(form[present])
      if (isRaised || used + growth > limit) continue
      used += growth
      details[index] = detail
    }
  }
  raise('name', room)
  raise('whole', room * WHOLE_SHARE)
  raise('signature', room)
  raise('whole', room)
  return details
}

/** Returns the length of a line, including its line break. */
function sizeOf(line: string | undefined): number {
  if (line === undefined) return Number.POSITIVE_INFINITY
  return line === '' ? 0 : line.length + 1
}

function write(forms: readonly Forms[], details: readonly Detail[], howToSelect: string): string {
  const lines = forms.flatMap((form, index) => {
    const detail = details[index] ?? 'unnamed'
    return detail === 'name' || detail === 'signature' ? [form[detail]] : []
  })
  const count = details.filter((detail) => detail === 'unnamed').length
  if (lines.length === 0 && count === 0) return ''
  return [heading(howToSelect), ...lines, ...(count > 0 ? [unnamed(count)] : [])].join('\n')
}

function heading(howToSelect: string): string {
  return `Found, but shortened here to keep the answer small. ${howToSelect} for the whole definition of one:`
}

function unnamed(count: number): string {
  return `- and ${count} more, not named; search with more specific words.`
}
