// Defines the tool that reads shelved results.
import { READ_TOOL } from './shelve.ts'

/** The definition, without the field names that differ between the API and MCP. */
export const readResultTool = {
  name: READ_TOOL,
  description:
    'Reads a result that was too long to show: such a result has a handle and a preview. Choose the smallest part that answers the question: a JSON path or a search before pages.',
  schema: {
    type: 'object',
    properties: {
      handle: { type: 'string', description: 'As the result gives it, such as result_4k2m9x7q.' },
      path: {
        type: 'string',
        description: 'Of JSON: the part at this path, such as items[0].name, items[*].id or items[10:20].',
      },
      search: {
        type: 'string',
        description:
          'Lines, or values of JSON with their paths, that contain this text; case does not matter.',
      },
      lines: { type: 'string', description: 'Lines from and to, such as 120-180.' },
      page: {
        type: 'integer',
        description: 'Page of the result, or of what path, search or lines select; 1 if left out.',
      },
    },
    required: ['handle'],
  },
} as const
