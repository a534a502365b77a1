// Reads and writes permission rules on disk: the user's own, global and per folder, and those that a folder contains.
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { PermissionRule } from '@toolshelf/agent'
import { parseRule, type RuleEffect, type RuleScope, trustsAnnotations } from '@toolshelf/agent/internal'
import { fieldsOf, isFields } from '@toolshelf/core/internal'
import { JsonFile } from '@toolshelf/core/internal/node'
import type { ServerConfig } from '@toolshelf/mcp'
import { type LocalMachine, ownConfigFile } from '@toolshelf/mcp/internal'

/** Where a folder keeps rules for everyone who works in it. */
export const PROJECT_RULES = join('.toolshelf', 'permissions.json')

const EFFECTS: readonly RuleEffect[] = ['allow', 'ask', 'deny']
/** Largest file of rules that is read. */
export const MAX_RULE_BYTES = 200_000
const MAX_RULES = 1000

/** The valid rules of a file, and its problems. */
type ReadRules = {
  readonly rules: readonly PermissionRule[]
  /** Invalid rules, and why. */
  readonly problems: readonly string[]
}

/** Opens the user's rules. Those of scope `user` apply everywhere, those of scope `project` in `machine.folder`. */
export function openUserRules(machine: LocalMachine) {
  const file = join(ownConfigFile(machine), '..', 'permissions.json')
  const folder = realFolder(machine.folder)
  const stored = new JsonFile(file, { maxBytes: MAX_RULE_BYTES })
  const change = (work: (document: Document) => boolean) =>
    stored.alone(async () => {
      const document = await readDocument(stored)
      const isChanged = work(document)
      if (isChanged) await stored.write(`${JSON.stringify(document, undefined, 2)}\n`)
      return isChanged
    })
  return {
    file,
    /** Rejects if the file cannot be parsed: it may contain a deny rule. */
    async read() {
      const document = await readDocument(stored)
      const own = rulesIn(document, 'user')
      const here = rulesIn(fieldsOf(fieldsOf(document.folders)[folder]), 'project')
      const [problem] = [...own.problems, ...here.problems]
      if (problem !== undefined) throw new Error(`${file}: ${problem}. Correct the file.`)
      return [...own.rules, ...here.rules]
    },
    async add(rules: readonly PermissionRule[]) {
      await change((document) => {
        for (const rule of rules) addTo(document, rule, folder)
        return true
      })
    },
    /** Returns false if there is no such rule. */
    remove: (rule: PermissionRule) => change((document) => removeFrom(document, rule, folder)),
  }
}

/**
 * Returns which servers the rules trust to say what only reads. Never a server that came with a folder, whatever its name:
 * the rules are about the user's own.
 */
export function annotationTrust(rules: () => readonly PermissionRule[]): (server: ServerConfig) => boolean {
  return ({ name, folder }) => folder === undefined && trustsAnnotations(rules(), name)
}

type Document = { [key: string]: unknown }

async function readDocument(stored: JsonFile): Promise<Document> {
  try {
    const document: unknown = JSON.parse((await stored.read()) ?? '{}')
    if (!isFields(document)) throw new Error('is not a JSON object')
    return { ...document }
  } catch (error) {
    const why = error instanceof SyntaxError ? 'is not valid JSON' : (error as Error).message
    throw new Error(`${stored.path} ${why}. Correct it, or remove it to start without rules.`)
  }
}

export function rulesIn(lists: { readonly [key: string]: unknown }, scope: RuleScope): ReadRules {
  const rules: PermissionRule[] = []
  const problems: string[] = []
  for (const effect of EFFECTS) {
    const list = lists[effect] ?? []
    if (!Array.isArray(list)) problems.push(`"${effect}" must be a list of rules`)
    else
      for (const rule of list.slice(0, MAX_RULES)) {
        try {
          rules.push(checked({ effect, rule: String(rule), scope }))
        } catch (error) {
          problems.push((error as Error).message)
        }
      }
    if (Array.isArray(list) && list.length > MAX_RULES)
      problems.push(`"${effect}" has ${list.length} rules, more than ${MAX_RULES}`)
  }
  return { rules, problems }
}

function checked(source: PermissionRule): PermissionRule {
  const { effect, rule, scope } = parseRule(source)
  return { effect, rule, scope }
}

function addTo(document: Document, { effect, rule, scope }: PermissionRule, folder: string): void {
  const group = scope === 'user' ? document : groupOf(document, folder)
  const list = Array.isArray(group[effect]) ? group[effect] : []
  if (!list.includes(rule)) group[effect] = [...list, rule]
}

function groupOf(document: Document, folder: string): Document {
  const folders: Document = { ...fieldsOf(document.folders) }
  const group: Document = { ...fieldsOf(folders[folder]) }
  folders[folder] = group
  document.folders = folders
  return group
}

function removeFrom(document: Document, { effect, rule, scope }: PermissionRule, folder: string): boolean {
  const group = scope === 'user' ? document : groupOf(document, folder)
  const list = Array.isArray(group[effect]) ? group[effect] : []
  if (!list.includes(rule)) return false
  group[effect] = list.filter((one) => one !== rule)
  return true
}

function realFolder(folder: string): string {
  try {
    return realpathSync.native(folder)
  } catch {
    return folder
  }
}
