// Turns typebox's validation errors into short messages that a model can act on.
// Implements V1.

import type { TLocalizedValidationError } from 'typebox/error'
import type { InputProblem } from '../core/index.ts'

/** Returns at most ten problems; a failed union counts as one, or as the problems of the branch most likely meant. */
export function explain(errors: readonly TLocalizedValidationError[]): InputProblem[] {
  const findings: Finding[] = []
  for (const error of errors) {
    if (error.keyword !== 'anyOf' && error.keyword !== 'oneOf') findings.push(...describe(error))
    else findings.push(...describeUnion(error, takeBranches(error, findings)))
  }
  const problems = new Map<string, InputProblem>()
  for (const { keyword, pointer, message } of findings.filter(isMeant)) {
    const expected = keyword === 'type' ? { expected: message.slice('must be '.length).split(' or ') } : {}
    const problem = { path: pointerNames(pointer).join('.'), message: clip(message), ...expected }
    problems.set(JSON.stringify(problem), problem)
  }
  if (problems.size === 0) return [{ path: '', message: 'does not match the schema' }]
  return [...problems.values()].slice(0, 10)
}

/** Filters out reports of unevaluated properties that only follow from another failure in the same object. */
function isMeant({ keyword, pointer }: Finding, _: number, all: readonly Finding[]): boolean {
  if (keyword !== 'unevaluatedProperties') return true
  const object = pointer.slice(0, pointer.lastIndexOf('/'))
  const isInside = (other: Finding) => `${other.pointer}/`.startsWith(`${object}/`)
  return !all.some((other) => other.keyword !== keyword && isInside(other))
}

type Finding = {
  readonly keyword: string
  readonly schemaPath: string
  readonly pointer: string
  readonly message: string
}

const unknown = 'is not a known property'
const toJson = (value: unknown) => JSON.stringify(value)

function describe(error: TLocalizedValidationError): Finding[] {
  const { keyword, schemaPath, instancePath } = error
  const about = (message: string, name?: PropertyKey): Finding => {
    const below = name === undefined ? '' : `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`
    const prefix = /(?<!\/properties)\/propertyNames(?:\/|$)/.test(schemaPath) ? 'the property name ' : ''
    return { keyword, schemaPath, pointer: instancePath + below, message: prefix + message }
  }
  switch (error.keyword) {
    case 'required':
      return error.params.requiredProperties.map((name) => about('is required', name))
    case 'unevaluatedProperties':
      return error.params.unevaluatedProperties.map((name) => about(unknown, name))
    case 'additionalProperties':
    case 'propertyNames':
      return [] // each property has been reported
    case 'if':
      return error.params.failingKeyword === 'else' ? [] : [about('breaks a conditional rule (if, then)')]
    case 'boolean':
      return [about(schemaPath.endsWith('/additionalProperties') ? unknown : 'is not allowed')]
    case 'type':
      return [about(`must be ${[error.params.type].flat().join(' or ')}`)]
    case 'enum':
      return [about(`must be one of ${error.params.allowedValues.map(toJson).join(', ')}`)]
    case 'const':
      return [about(`must be ${toJson(error.params.allowedValue)}`)]
    case 'not':
      return [about('must not have the form that the schema rules out')]
    default:
      return [about(error.message)]
  }
}

type Union = Extract<TLocalizedValidationError, { keyword: 'anyOf' | 'oneOf' }>

/** Removes and returns the errors of a union's branches, which come right before the union's own error. */
function takeBranches(union: Union, findings: Finding[]): Finding[][] {
  const prefix = `${union.schemaPath}/${union.keyword}/`
  const first = findings.findLastIndex(
    ({ schemaPath, pointer }) => !schemaPath.startsWith(prefix) || !pointer.startsWith(union.instancePath),
  )
  const branches = new Map<number, Finding[]>()
  for (const finding of findings.splice(first + 1)) {
    const branch = Number.parseInt(finding.schemaPath.slice(prefix.length), 10)
    branches.set(branch, [...(branches.get(branch) ?? []), finding])
  }
  return [...branches.values()]
}

function describeUnion(union: Union, branches: Finding[][]): Finding[] {
  const { keyword, schemaPath, instancePath } = union
  const isHere = ({ pointer }: Finding) => pointer === instancePath
  const isOther = (finding: Finding) =>
    finding.keyword === 'const' || (isHere(finding) && ['type', 'enum'].includes(finding.keyword))
  const [meant, ...more] = branches.filter((branch) => !branch.some(isOther))
  if (meant && more.length === 0) return meant.map((finding) => ({ ...finding, schemaPath }))
  const about = (message: string): Finding => ({ keyword, schemaPath, pointer: instancePath, message })
  if (branches.length === 0) return [about('matches more than one form, where only one is allowed')]
  const firsts = branches.flatMap((branch) => branch.slice(0, 1))
  if (firsts.every((finding) => isHere(finding) && finding.message.startsWith('must be '))) {
    const expected = listed(
      firsts.map(({ message }) => message.slice(8)),
      ' or ',
    )
    return [{ ...about(`must be ${expected}`), keyword: 'type' }]
  }
  const forms = firsts.map(({ pointer, message }) =>
    [...pointerNames(pointer.slice(instancePath.length)), message].join(' '),
  )
  return [about(`has none of the allowed forms: ${listed(forms, '; or ')}`)]
}

const listed = (texts: readonly string[], separator: string) => [...new Set(texts)].join(separator)

const clip = (message: string) => (message.length > 300 ? `${message.slice(0, 299)}…` : message)

/** Splits a JSON pointer into its names. */
export const pointerNames = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
