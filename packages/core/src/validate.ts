// Validates a tool's input against its JSON schema (draft-07 or 2020-12) with typebox's interpreter.
// Schemas come from untrusted servers: typebox gets only sanitised copies, and no code is generated from them.
// Implements V1.

import { RE2JS } from 're2js'
import type { TLocalizedValidationError } from 'typebox/error'
import { Format } from 'typebox/format'
import { Check, Errors } from 'typebox/schema'
import { Settings } from 'typebox/system'
import { isFields } from './lib/json.ts'
import { oncePer } from './lib/objects.ts'
import type { InputProblem, Validate } from './types.ts'

/**
 * Lists what is wrong with an input by its JSON schema. Reports nothing if the schema is broken or too large, and leaves the
 * decision to the server.
 *
 * @example
 * const problems = validateInput(tool.input_schema, call.input)
 */
export const validateInput: Validate = (schema, input) => {
  if (schema === false) return [{ path: '', message: 'no input is allowed' }]
  if (!isFields(schema)) return []
  const { maxErrors } = Settings.Get()
  try {
    budget = wholeBudget
    widest = 0
    const prepared = prepareOnce(schema)
    Settings.Set({ maxErrors: 100 })
    const copy = copyInput(input)
    const [valid, errors] = Errors(Object.create(null), prepared, copy)
    return valid ? [] : explain(errors)
  } catch {
    return []
  } finally {
    Settings.Set({ maxErrors })
  }
}

// The budget of one validation in steps, at about 5 million per second. Only hostile schemas reach it.
const wholeBudget = 1_000_000
const onePatternCost = 500_000
let budget = wholeBudget
/** The size of the largest object or list in the input: some keywords scan all of it at each visit. */
let widest = 0

function spend(cost: number): undefined {
  budget -= cost
  if (budget < 0) throw new Error('too much work')
}

type Fields = { [key: string]: unknown }

// typebox treats inherited properties such as `toString` as present, so the copy has no prototype.
// Names are limited because typebox runs `patternProperties` over them with JavaScript's own engine.
function copyInput(value: unknown): unknown {
  spend(2)
  if (Array.isArray(value)) {
    widest = Math.max(widest, value.length)
    return value.map(copyInput)
  }
  if (!isFields(value)) return value
  const copy: Fields = Object.create(null)
  const entries = Object.entries(value)
  widest = Math.max(widest, entries.length)
  for (const [name, item] of entries) {
    if (name.length > 1_000) throw new Error('too long a name')
    if (item !== undefined) copy[name] = copyInput(item)
  }
  return copy
}

// --- The schema's copy ---

const schemaKeywords = new Set(
  `additionalItems additionalProperties allOf anyOf contains else if items not oneOf prefixItems
  propertyNames then unevaluatedItems unevaluatedProperties`.split(/\s+/),
)
const mapKeywords = new Set(['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'properties'])
const plainKeywords = new Set(
  `const dependentRequired enum exclusiveMaximum exclusiveMinimum maxContains maxItems maxLength
  maxProperties maximum minContains minItems minLength minProperties minimum multipleOf required
  type`.split(/\s+/),
)
const referenceKeywords = new Set(['$ref', '$dynamicRef', '$recursiveRef'])
const dataKeywords = new Set(['default', 'example', 'examples'])
const types = new Set<unknown>(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])

type Preparation = {
  /** Drafts before 2019 ignore keywords beside a `$ref`. */
  readonly refStandsAlone: boolean
  readonly copies: Map<object, Fields>
  readonly references: Reference[]
  /** Schemas by URI: those with an `$id` and, after a `#`, those with an anchor. */
  readonly addresses: Map<string, Fields>
}

type Reference = {
  readonly copy: Fields
  readonly keyword: string
  readonly reference: string
  readonly base: string
}

const prepareOnce = oncePer((schema: Fields): object => {
  try {
    return prepare(schema)
  } catch {
    return {}
  }
})

// Copies the known keywords; replaces patterns and formats by checks with bounded cost, and references by their
// targets.
function prepare(root: Fields): Fields {
  const base = 'https://schema.invalid/'
  const preparation: Preparation = {
    refStandsAlone: /draft-0[3-7]/.test(String(root.$schema)),
    copies: new Map(),
    references: [],
    addresses: new Map([[base, root]]),
  }
  copySchema(preparation, root, base)
  return linkReferences(preparation, preparation.copies.get(root) ?? {})
}

function copySchema(preparation: Preparation, schema: unknown, outerBase: string): unknown {
  if (typeof schema === 'boolean') return schema
  if (Array.isArray(schema)) return schema.map((item) => copySchema(preparation, item, outerBase))
  if (!isFields(schema)) return true
  const known = preparation.copies.get(schema)
  if (known) return known
  const alone = preparation.refStandsAlone && typeof schema.$ref === 'string'
  const copy = makeNode(alone ? { $ref: schema.$ref } : schema)
  preparation.copies.set(schema, copy)
  const base = alone ? outerBase : register(preparation, schema, outerBase)
  for (const [keyword, value] of Object.entries(schema)) {
    const part = copyKeyword(preparation, keyword, value, base)
    if (part !== undefined && !alone) copy[keyword] = part
    if (referenceKeywords.has(keyword) && typeof value === 'string') {
      preparation.references.push({ copy, keyword, reference: value, base })
    }
  }
  return copy
}

function copyKeyword(preparation: Preparation, keyword: string, value: unknown, base: string): unknown {
  if (mapKeywords.has(keyword)) return copyMap(preparation, value, base)
  if (schemaKeywords.has(keyword)) return copySchema(preparation, value, base)
  if (keyword === 'patternProperties') return plainPatterns(copyMap(preparation, value, base))
  if (plainKeywords.has(keyword)) return isUsable(keyword, value) ? value : undefined
  if (isFields(value) && !dataKeywords.has(keyword)) copySchema(preparation, value, base) // for references
  return undefined
}

// typebox reads `$id` of every schema it visits. In the copies it is a getter that counts the visits.
function makeNode(schema: Fields): Fields {
  let cost = 20
  let costOfEach = 0
  for (const [keyword, value] of Object.entries(schema)) {
    const count = typeof value === 'object' && value !== null ? Object.keys(value).length : 0
    cost += keyword === 'required' ? 20 * count : count
    if (referenceKeywords.has(keyword)) cost += 100
    if (keyword === 'additionalProperties') {
      // typebox compares each property of the input with each one that is known.
      const known = Object.keys(schema.properties ?? {}).length
      cost += 10 * known
      costOfEach += 0.4 * known + (isFields(value) ? 5 : 15)
    }
    if (keyword === 'patternProperties') costOfEach += 3 * count
    if (keyword.startsWith('unevaluated')) costOfEach += 25
    if (keyword === 'contains') costOfEach += 1
  }
  const $id = { get: () => spend(cost + costOfEach * widest) }
  return Object.create(null, { $id, '~refine': { value: makeChecks(schema) } })
}

// Treats keywords that no input could satisfy, and types that only typebox knows, as mistakes.
function isUsable(keyword: string, value: unknown): boolean {
  const values = [value].flat()
  if (keyword === 'type') return values.length > 0 && values.every((type) => types.has(type))
  return keyword === 'multipleOf' ? Number(value) > 0 : keyword !== 'enum' || values.length > 0
}

function copyMap(preparation: Preparation, map: unknown, base: string): Fields {
  const copy: Fields = Object.create(null)
  for (const [name, value] of Object.entries(isFields(map) ? map : {})) {
    const names = Array.isArray(value) && value.every((item) => typeof item === 'string')
    copy[name] = names ? value : copySchema(preparation, value, base)
  }
  return copy
}

// If a pattern is dropped, every property name counts as known, because no others can be excluded.
function plainPatterns(map: Fields): Fields {
  const entries = Object.entries(map)
  const plain = entries.filter(([pattern]) => isPlainPattern(pattern))
  const everything = plain.length < entries.length ? [['', true]] : []
  return Object.fromEntries([...plain, ...everything])
}

// Patterns run on RE2 in linear time, or are dropped if it does not support them; typebox's formats are linear too.
// Neither runs on texts so long that even linear time would be slow.
function makeChecks({ format, pattern, uniqueItems }: Fields): Guard[] {
  const checks: Guard[] = []
  if (typeof format === 'string') {
    const compiled = { size: 10, test: (text: string) => Format.Test(format, text) }
    checks.push(stringCheck(() => compiled, `must be in ${format} format`))
  }
  if (typeof pattern === 'string') {
    let compiled: CompiledPattern | undefined
    const compile = () => {
      compiled ??= compilePattern(pattern) ?? { size: 0, test: () => true }
      return compiled
    }
    checks.push(stringCheck(compile, `must match the pattern ${pattern}`))
  }
  if (uniqueItems === true) {
    const check = (value: unknown) => {
      if (Array.isArray(value)) spend(COST_OF_UNIQUE * value.length)
      return Check({ uniqueItems }, value) // `Errors` takes quadratic time
    }
    checks.push({ check, error: () => 'must not have duplicate items' })
  }
  return checks
}

const COST_OF_UNIQUE = 20

type Guard = { readonly check: (value: unknown) => boolean; readonly error: () => string }

function stringCheck(compile: () => CompiledPattern, message: string): Guard {
  const check = (value: unknown) => {
    if (typeof value !== 'string') return true
    const { size, test } = compile()
    const cost = size * value.length
    spend(size + (cost > onePatternCost ? 0 : cost))
    return cost > onePatternCost || test(value)
  }
  return { check, error: () => message }
}

// --- References ---

/** Registers a schema's `$id` and anchors; returns the base URI for references inside it. */
function register({ addresses }: Preparation, schema: Fields, outerBase: string): string {
  const { $id, $anchor, $dynamicAnchor } = schema
  const isAddress = typeof $id === 'string' && URL.canParse($id, outerBase)
  const [base = outerBase, name] = isAddress ? new URL($id, outerBase).href.split('#') : []
  if (isAddress && !$id.startsWith('#')) addresses.set(base, schema)
  for (const anchor of [name, $anchor, $dynamicAnchor]) if (anchor) addresses.set(`${base}#${anchor}`, schema)
  return base
}

// An unresolvable reference allows everything, and counts every property and item as known.
const anything: Fields = { additionalProperties: true, items: true }

function linkReferences(preparation: Preparation, root: Fields): Fields {
  const targets: unknown[] = [anything]
  for (const { copy, keyword, reference, base } of preparation.references) {
    if (keyword !== '$ref' && copy.$ref) continue
    const target = findTarget(preparation, reference, base)
    const linked = isFields(target) ? preparation.copies.get(target) : target
    const isSchema = isFields(linked) || typeof linked === 'boolean'
    copy.$ref = `#/targets/${isSchema ? targets.push(linked) - 1 : 0}`
  }
  // With a `$schema`, typebox does not search the whole schema again for each reference.
  return Object.assign(root, { $schema: '', targets })
}

function findTarget({ addresses }: Preparation, reference: string, base: string): unknown {
  if (!URL.canParse(reference, base)) return undefined
  const [address = '', encoded = ''] = new URL(reference, base).href.split('#')
  const fragment = /%(?![0-9a-f]{2})/i.test(encoded) ? encoded : decodeURIComponent(encoded)
  if (fragment !== '' && !fragment.startsWith('/')) return addresses.get(`${address}#${fragment}`)
  let target: unknown = addresses.get(address)
  for (const name of pointerNames(fragment)) {
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) return undefined
    target = (target as Fields)[name]
  }
  return target
}

/** A compiled pattern; one test costs at most `size` times the text's length. */
type CompiledPattern = { readonly size: number; readonly test: (text: string) => boolean }

const MAX_PATTERN_LENGTH = 2_000
const MAX_INSTRUCTIONS = 5_000

/** Returns undefined for an invalid or too large pattern, and for look-around or back-references. */
function compilePattern(source: string): CompiledPattern | undefined {
  if (source.length > MAX_PATTERN_LENGTH) return undefined
  try {
    new RegExp(source, 'u')
    const compiled = RE2JS.compile(toRe2(source))
    const size = compiled.programSize()
    return size > MAX_INSTRUCTIONS ? undefined : { size, test: (text) => compiled.matcher(text).find() }
  } catch {
    return undefined
  }
}

/**
 * Returns whether JavaScript's own engine is fast for a pattern too: at most one group and one quantifier, not on the
 * group.
 */
function isPlainPattern(source: string): boolean {
  const plain = source.replaceAll('(?:', '(')
  const groups = plain.split('(').length - 1
  const quantifiers = plain.split(/[*+?{]/).length - 1
  const isSimple = groups <= 1 && quantifiers <= 1 && !/\(\?|\)[*+?{]/.test(plain)
  return isSimple && compilePattern(source) !== undefined
}

/** Translates JavaScript syntax that RE2 spells differently: numeric and control escapes, and escaped slashes. */
function toRe2(source: string): string {
  const escapes = /\\u\{([0-9a-f]+)\}|\\u([0-9a-f]{4})|\\c([a-z])|\\([\s\S])/gi
  return source.replace(escapes, (whole, long, short, control, other) => {
    if (long ?? short) return `\\x{${long ?? short}}`
    if (control) return `\\x{${(control.toUpperCase().charCodeAt(0) - 64).toString(16)}}`
    return other === '/' ? '/' : whole
  })
}

/** Returns at most ten problems; a failed union counts as one, or as the problems of the branch most likely meant. */
function explain(errors: readonly TLocalizedValidationError[]): InputProblem[] {
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
const pointerNames = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
