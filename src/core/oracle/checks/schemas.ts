// The schemas of custom tools: objects at the top, with property names that the API takes.
import { kindOf } from '../catalogue.ts'
import { firstRefusal, type Refusal } from '../error.ts'
import { type Fields, fieldsOf, isFields, listOf } from '../json.ts'

export function checkSchemas(tools: unknown): Refusal | undefined {
  return firstRefusal(listOf(tools).entries(), ([index, value]) => {
    const tool = fieldsOf(value)
    return kindOf(tool) === 'custom' ? checkSchema(tool, `tools.${index}.custom`) : undefined
  })
}

/** Quoted by the API's own errors; names further inside a schema are not checked. */
export const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/

function checkSchema({ description, input_schema: schema }: Fields, path: string): Refusal | undefined {
  if (description !== undefined && typeof description !== 'string') {
    return { message: `${path}.description: Input should be a valid string` }
  }
  const { properties, required, anyOf, oneOf, allOf } = fieldsOf(schema)
  const place = `${path}.input_schema`
  if ([anyOf, oneOf, allOf].some((choice) => choice !== undefined)) {
    return { message: `${place}: input_schema does not support oneOf, allOf, or anyOf at the top level` }
  }
  if (properties !== undefined && properties !== null && !isFields(properties)) {
    return { message: `${place}.properties: Input should be a valid dictionary` }
  }
  if (Object.keys(fieldsOf(properties)).some((name) => !PROPERTY_NAME.test(name))) {
    return { message: `${place}.properties: Property keys should match pattern '${PROPERTY_NAME.source}'` }
  }
  const isNames = Array.isArray(required) && required.every((name) => typeof name === 'string')
  return required === undefined || required === null || isNames
    ? undefined
    : { message: `${place}.required: Input should be a valid list` }
}
