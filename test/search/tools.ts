// Small catalogues for the search tests.
import type { PoolTool } from '../../packages/core/src/index.ts'
import { poolTools } from '../../packages/core/src/search/evaluate.ts'

export type Spec = {
  readonly name: string
  readonly description?: string
  readonly server?: string
  readonly searchHint?: string
  readonly arguments?: Readonly<Record<string, object>>
}

export function toolsOf(...specs: readonly Spec[]): PoolTool[] {
  return poolTools(
    specs.map(({ arguments: properties = {}, ...tool }) => ({
      ...tool,
      input_schema: { type: 'object', properties },
    })),
  )
}

export const office: PoolTool[] = toolsOf(
  { name: 'mcp__slack__send_message', server: 'slack', description: 'Sends a message to a channel.' },
  { name: 'mcp__slack__list_channels', server: 'slack', description: 'Lists the channels of a workspace.' },
  { name: 'mcp__email__send_email', server: 'email', description: 'Sends an e-mail.' },
  { name: 'mcp__github__create_issue', server: 'github', description: 'Opens an issue in a repository.' },
  { name: 'mcp__github__delete_branch', server: 'github', description: 'Removes a branch.' },
  { name: 'mcp__calendar__create_event', server: 'calendar', description: 'Adds an event to a calendar.' },
)
