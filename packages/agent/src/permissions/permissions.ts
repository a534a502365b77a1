// Decides which calls of an agent may run: by rules first, and if none applies, by asking a person.
import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { fieldsOf, textOf } from '@toolshelf/core/internal'
import { accessTo } from '../accesses.ts'
import { shellPath } from '../tools/programs.ts'
import type { PermissionCheck, PermissionRequest, PermissionVerdict, ScriptPlan } from '../types.ts'
import { readAddress } from './address.ts'
import {
  forbids,
  forbidsPath,
  isAllowedBy,
  mayForbid,
  type RuleFolders,
  type SeenCall,
  suggestedRules,
} from './match.ts'
import { OWN_TOOLS, type ParsedRule, type PermissionRule, parseRule, type RuleScope } from './rules.ts'
import { readPlain } from './shell.ts'

export type { PermissionRule, RuleEffect, RuleScope } from './rules.ts'

/** A question to a person about a call. The answer `once` to a call of a script allows all its calls of this tool. */
export type PermissionQuestion = Omit<PermissionRequest, 'isHarmless'> & {
  /** Rules that would allow this call from now on; empty if it can only be allowed once. */
  readonly suggested: readonly string[]
  /** Whether rules added by another answer allow it by now. */
  readonly isAllowed: () => boolean
}

/** Allow once, allow by the suggested rules in a scope, or refuse, optionally with a reason. */
export type PermissionAnswer = 'once' | Exclude<RuleScope, 'folder'> | 'no' | { readonly refusal: string }

/** Options of `createPermissions`. */
export type PermissionsOptions = {
  /** The working folder: paths in rules are relative to it, and reading inside it needs no permission. */
  readonly directory: string
  /** The folder that `~` in rules means. Default: the user's home folder. */
  readonly home?: string
  /** The shell that runs Bash commands, of which only bash syntax is parsed completely. Default: the built-in tool's. */
  readonly shell?: string
  /** The rules to start with; throws for an invalid one. Default: none. */
  readonly rules?: readonly PermissionRule[]
  /** Names of the host's own tools, which rules may name besides the agent's. Default: none. */
  readonly tools?: readonly string[]
  /** Asks a person. Without it, only harmless calls and those allowed by rules run. */
  readonly ask?: (question: PermissionQuestion) => Promise<PermissionAnswer>
  /** Persists rules whose scope outlives the session. */
  readonly save?: (rules: readonly PermissionRule[]) => void | Promise<void>
  /** The message to the model for a call that nobody can approve. */
  readonly refusal?: (question: PermissionQuestion) => string
}

/** The rules that decide which calls may run. */
export type Permissions = {
  /** For `createAgent`. */
  readonly permission: PermissionCheck
  /** Returns the current rules, in the order in which they were added. */
  readonly rules: () => readonly PermissionRule[]
  /** Throws an error that says what is wrong with a rule. */
  readonly add: (rule: PermissionRule) => void
  /** Returns false if there is no such rule. */
  readonly remove: (rule: PermissionRule) => boolean
}

/**
 * Creates the permissions of an agent: rules with patterns, and a person to ask if no rule decides. Deny overrides ask, ask
 * overrides allow. Reading inside the working folder needs no permission, unless a rule says otherwise.
 *
 * @example
 * const permissions = createPermissions({
 *   directory: process.cwd(),
 *   rules: [
 *     { effect: 'allow', rule: 'Bash(git status*)', scope: 'session' },
 *     { effect: 'deny', rule: 'Read(.env)', scope: 'session' },
 *   ],
 *   ask: async ({ call }) => ((await confirm(`Run ${call.name}?`)) ? 'once' : 'no'),
 * })
 * createAgent({ client, model, shelf, tools, permission: permissions.permission })
 */
export function createPermissions(options: PermissionsOptions): Permissions {
  const { ask, save = () => {}, refusal = nobodyThere, shell = shellPath() } = options
  const folders: RuleFolders = {
    directory: real(resolve(options.directory)),
    home: real(options.home ?? homedir()),
  }
  const ownTools = new Set([...OWN_TOOLS, ...(options.tools ?? [])])
  const parse = (rule: PermissionRule) => parseRule(rule, ownTools)
  let rules: readonly ParsedRule[] = (options.rules ?? []).map(parse)
  const add = (rule: PermissionRule) => {
    const parsed = parse(rule)
    if (!rules.some((one) => isSame(one, parsed))) rules = [...rules, parsed]
  }
  const judge = (call: SeenCall, isHarmless: boolean) => judgeBy(rules, call, folders, isHarmless)
  const allowed = (call: SeenCall): PermissionVerdict => {
    const hiding = rules.filter(({ effect, tool }) => effect !== 'allow' && tool === 'Read')
    if (hiding.length === 0 || !call.accesses.some(({ isRecursive }) => isRecursive)) return true
    const isHidden = (path: string) =>
      hiding.some((rule) => forbidsPath(rule, { path, requestedPath: path, isRecursive: false }, folders))
    return { isHidden }
  }
  /** The tools that each script may call without asking again. */
  const approved = new WeakMap<ScriptPlan, Set<string>>()
  const permission = async (request: PermissionRequest): Promise<PermissionVerdict> => {
    const call = await seen(request, options.directory, { program: shell, folders })
    if (call.server === undefined) ownTools.add(call.tool)
    const judged = judge(call, request.isHarmless)
    if (judged.effect === 'allow') return allowed(call)
    if (judged.effect === 'deny') return refusedBy(judged.rule, call)
    const { isHarmless, script, ...asked } = request
    const { server } = asked
    // One answer allows all of a script's calls of a server's tool. Commands and files are decided each time.
    const isPlanned = () =>
      script !== undefined && server !== undefined && approved.get(script)?.has(call.tool) === true
    if (judged.rule === undefined && isPlanned()) return allowed(call)
    const suggested = judged.rule ? [] : workingRules(call, folders, parse)
    const question: PermissionQuestion = {
      ...asked,
      suggested,
      isAllowed: () => isPlanned() || judge(call, isHarmless).effect === 'allow',
      ...(script && server !== undefined ? { script } : {}),
    }
    if (!ask) {
      const text = judged.rule ? `${refusedBy(judged.rule, call)} ${NOBODY}` : refusal(question)
      return call.command === 'other' ? `${text} ${PLAIN_ONLY}` : text
    }
    const answer = await ask(question)
    if (typeof answer === 'object') return answer.refusal
    if (answer === 'no') return REFUSED
    if (answer === 'once' && judged.rule === undefined && question.script)
      approved.set(question.script, new Set(approved.get(question.script)).add(call.tool))
    if (answer !== 'once') {
      // A folder's server is there in its folder alone.
      const scope = call.owner === 'folder' && answer === 'user' ? 'project' : answer
      const wanted = suggested.map((rule) => ({ effect: 'allow', rule, scope }) as const)
      for (const rule of wanted) add(rule)
      if (answer !== 'session') await save(wanted)
    }
    return allowed(call)
  }
  return {
    permission,
    rules: () => rules.map(({ effect, rule, scope }) => ({ effect, rule, scope })),
    add,
    remove(rule) {
      const before = rules.length
      rules = rules.filter((one) => !isSame(one, { ...rule, rule: rule.rule.trim() }))
      return rules.length < before
    },
  }
}

const REFUSED = 'The user does not allow this call. Ask what to do instead.'
const NOBODY = 'Nobody is there to ask.'
const PLAIN_ONLY =
  'Rules can decide only about one plain command: without operators, redirections, substitutions, variables, wildcards and "~".'

function nobodyThere({ call, suggested }: PermissionQuestion): string {
  const rules = suggested.length > 0 ? suggested : [call.name]
  return `Nobody is there to allow ${call.name}. It runs only if a rule allows it: ${rules.join(', ')}.`
}

function isSame(one: PermissionRule, other: PermissionRule): boolean {
  return one.effect === other.effect && one.rule === other.rule && one.scope === other.scope
}

type Judged =
  | { readonly effect: 'allow' }
  | { readonly effect: 'deny'; readonly rule: ParsedRule }
  | { readonly effect: 'ask'; readonly rule: ParsedRule | undefined }

function judgeBy(
  rules: readonly ParsedRule[],
  call: SeenCall,
  folders: RuleFolders,
  isHarmless: boolean,
): Judged {
  const having = (effect: ParsedRule['effect']) => rules.filter((rule) => rule.effect === effect)
  const denying = having('deny').find((rule) => forbids(rule, call, folders))
  if (denying) return { effect: 'deny', rule: denying }
  const asking = having('ask').find((rule) => forbids(rule, call, folders))
  if (asking) return { effect: 'ask', rule: asking }
  const guarding = rules.find((rule) => rule.effect !== 'allow' && mayForbid(rule, call))
  if (guarding) return { effect: 'ask', rule: guarding }
  const isAllowed = isHarmless || isAllowedBy(having('allow'), call, folders)
  return isAllowed ? { effect: 'allow' } : { effect: 'ask', rule: undefined }
}

/** The refusal for the model. Does not quote rules of the folder, which are untrusted text. */
function refusedBy({ effect, rule, scope }: PermissionRule, { tool }: SeenCall): string {
  const whose = scope === 'session' ? 'this session' : 'the user'
  const which =
    scope === 'folder'
      ? `a permission rule of this folder (${effect}, about ${tool})`
      : `the permission rule "${effect} ${rule}" of ${whose}`
  return `Refused by ${which}. Do not try to do the same in another way; say what you need it for.`
}

/** Collects everything about a call that rules check. */
async function seen(
  request: PermissionRequest,
  directory: string,
  { program, folders }: { readonly program: string; readonly folders: RuleFolders },
): Promise<SeenCall> {
  const { call, server, folder, accesses } = request
  const owner = folder === undefined ? 'own' : folder === folders.directory ? 'folder' : undefined
  const { command, url } = fieldsOf(call.input)
  const isOwn = (tool: string) => server === undefined && call.name === tool
  const plain = isOwn('Bash') ? (readPlain(textOf(command), program) ?? 'other') : undefined
  const words = typeof plain === 'object' ? fileWords(plain.words) : []
  return {
    tool: call.name,
    server,
    owner,
    accesses,
    command: plain,
    mentioned: await Promise.all(words.map((word) => accessTo(directory, word, 'read'))),
    address: isOwn('Fetch') ? readAddress(textOf(url)) : undefined,
  }
}

/** Words that may be paths, and parts of words: `--file=.env`, `host:.env`, `bash -c 'cat .env'`. */
function fileWords([, ...words]: readonly string[]): string[] {
  const parts = words.flatMap((word) => [word, ...word.split(/[^\w./@%+-]+/)])
  return [...new Set(parts)].filter((word) => word !== '')
}

/** The suggested rules, if they actually allow the call. */
function workingRules(
  call: SeenCall,
  folders: RuleFolders,
  parse: (rule: PermissionRule) => ParsedRule,
): readonly string[] {
  const suggested = suggestedRules(call, folders)
  const parsed = suggested.map((rule) => parse({ effect: 'allow', rule, scope: 'session' }))
  return isAllowedBy(parsed, call, folders) ? suggested : []
}

function real(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}
