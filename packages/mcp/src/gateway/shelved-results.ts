// Keeps long results of calls out of a client's context: the client gets a preview, and reads the rest with ReadResult.
import type { TraceListener } from '@toolshelf/core'
import {
  errorMessage,
  fieldsOf,
  parseJson,
  readResultTool,
  readShelved,
  shelveText,
  textOf,
  toJson,
} from '@toolshelf/core/internal'
import { type ClientWork, pauseIn, type ResultOptions, resultSettings } from '@toolshelf/core/internal/node'
import { ALWAYS_LOAD, type OwnTool } from '../greeting/greeting.ts'
import type { CallOutput } from '../types.ts'

/** The tool that reads long results, as clients list it. */
export const gatewayReadTool: OwnTool = {
  name: readResultTool.name,
  title: 'Read a long result',
  description: readResultTool.description,
  inputSchema: readResultTool.schema,
  annotations: { readOnlyHint: true, openWorldHint: false },
  _meta: ALWAYS_LOAD,
}

export type GatewayResults = ResultOptions & {
  /** Identifies the one client of a gateway on stdio, so that it finds its results again after a restart. */
  readonly owner?: string
}

/** Stores long results, and reads them back. */
export type ShelvedResults = ReturnType<typeof createShelvedResults>

export type ResultClient = {
  /** The same object for all calls of one client. */
  readonly client: object
  readonly clientName: string
  /** The `uid` of the user that the client acts for: results belong to the user, whatever client and replica they use. */
  readonly uid?: string | undefined
}

type ShelvableCall = ResultClient & {
  readonly id: string
  readonly name: string
  readonly server: string
  /** Longest result, in characters, if the tool or its server has its own budget. */
  readonly budget: number | undefined
  /** Whether the client knows the tool's output schema, so that `structuredContent` must stay as it is. */
  readonly keepsStructure: boolean
  /** The tool through which the model calls ReadResult, if that is not on the client's list. */
  readonly caller: string | undefined
  readonly trace: TraceListener | undefined
  /** Called when the result has been stored. */
  readonly onShelved: () => void
}

/** Creates the store of long results for a gateway. */
export function createShelvedResults(
  { owner: fixedOwner, ...options }: GatewayResults,
  notify: (message: string) => void = () => {},
) {
  const results = resultSettings(options)
  const owners = new WeakMap<object, string>()

  function ownerOf({ client, clientName, uid }: ResultClient): string {
    if (uid !== undefined) return JSON.stringify({ user: uid })
    const fixed = fixedOwner === undefined ? undefined : JSON.stringify([fixedOwner, clientName])
    const owner = owners.get(client) ?? fixed ?? results.newOwner()
    owners.set(client, owner)
    return owner
  }

  return {
    /** Returns the result as the client gets it. Errors, and results within the budget, pass unchanged. */
    async fit(output: CallOutput, call: ShelvableCall) {
      const budget = call.budget ?? results.budget
      const long = longPart(output, budget, call.keepsStructure)
      if (!long) return output
      try {
        const { id, name, server, trace, caller } = call
        const owner = ownerOf(call)
        const { texts, sizes } = await shelveText(results, { owner, text: long.text, budget, caller })
        trace?.({ type: 'shelved', id, name, server, ...sizes })
        call.onShelved()
        return long.replacedBy(texts.map(block))
      } catch (error) {
        notify(
          `a result of ${call.name} cannot be put on the shelf; it is sent whole: ${errorMessage(error)}`,
        )
        return output
      }
    },
    async read(client: ResultClient, input: unknown, work: ClientWork) {
      const { slice } = await work.use('calls')
      const find = (id: string) => results.store.get(ownerOf(client), id)
      const { texts, ...rest } = await readShelved(find, results.budget, input, pauseIn(slice))
      return { content: texts.map(block), ...rest }
    },
    /** Drops the results of a disconnected client, unless it can return under the same name. */
    leave(client: object) {
      const owner = owners.get(client)
      if (owner !== undefined && fixedOwner === undefined) void results.store.drop(owner).catch(() => {})
    },
  }
}

type Block = CallOutput['content'][number]

type LongPart = { readonly text: string; readonly replacedBy: (blocks: readonly Block[]) => CallOutput }

/**
 * Returns the part of a result that exceeds the budget: its text, or else its structured content. If the client does not
 * know the schema, omits long structured content beside a long text, and stores it too unless the text is the same.
 */
function longPart(output: CallOutput, budget: number, keepsStructure: boolean): LongPart | undefined {
  const { content, structuredContent, ...rest } = output
  if (output.isError === true || budget <= 0) return undefined
  const texts = content.map(textIn).filter((text) => text !== undefined)
  const text = texts.join('\n')
  const json = structuredContent === undefined ? '' : toJson(structuredContent)
  const isStructureLong = json.length > budget && !keepsStructure
  const structure = structuredContent === undefined || isStructureLong ? {} : { structuredContent }
  const others = content.filter((one) => textIn(one) === undefined)
  if (text.length > budget) {
    const isSaid =
      !isStructureLong || onlyWraps(structuredContent, text) || texts.some((one) => isSameJson(one, json))
    return {
      text: isSaid ? text : `${text}\n${json}`,
      replacedBy: (blocks) => ({ ...rest, ...structure, content: [...blocks, ...others] }),
    }
  }
  if (!isStructureLong) return undefined
  return { text: json, replacedBy: (blocks) => ({ ...rest, content: [...blocks, ...content] }) }
}

/** Returns whether structured content is nothing but the text, as in `{ content: text }`. */
function onlyWraps(structuredContent: unknown, text: string): boolean {
  const values = Object.values(fieldsOf(structuredContent))
  return values.length === 1 && values[0] === text
}

function isSameJson(text: string, json: string): boolean {
  const value = parseJson(text)
  return value !== undefined && toJson(value) === json
}

/** Returns the text of a block, or of the resource embedded in it; undefined for images, links and the like. */
function textIn({ type, text, resource }: Block): string | undefined {
  if (type === 'text') return textOf(text)
  if (type !== 'resource') return undefined
  const { text: embedded, blob } = fieldsOf(resource)
  return typeof embedded === 'string' ? embedded : typeof blob === 'string' ? blob : undefined
}

function block(text: string): Block {
  return { type: 'text', text }
}
