// Freeform tools, which OpenAI calls `custom`: their input is plain text. Inside the gateway they have one text field.
import { inputOf } from '../../core/index.ts'
import { type Fields, fieldsOf, textOf } from '../../lib/index.ts'

/** The only field of a freeform tool's input inside the gateway. */
export const FREEFORM_FIELD = 'input'

/** Converts a freeform tool; its grammar becomes part of the description. */
export function fromFreeform({ description, format }: Fields): Fields {
  const { type, syntax, definition, grammar } = fieldsOf(format)
  const rules = { ...fieldsOf(grammar), ...(syntax === undefined ? {} : { syntax, definition }) }
  const about =
    type === 'grammar'
      ? `The input must match this ${textOf(rules.syntax) || 'Lark'} grammar:\n${textOf(rules.definition)}`
      : ''
  return {
    description: [textOf(description), about].filter((text) => text !== '').join('\n\n'),
    input_schema: {
      type: 'object',
      properties: { [FREEFORM_FIELD]: { type: 'string', description: 'The whole input, as plain text.' } },
      required: [FREEFORM_FIELD],
    },
  }
}

/** The plain text of a freeform call. */
export function freeformInput(json: string): string {
  const input = inputOf(json)
  const text = input?.[FREEFORM_FIELD]
  return typeof text === 'string' ? text : json
}
