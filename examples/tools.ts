// Tools for the example: what an agent with a few built-ins and three MCP servers would have.
import type { Tool } from '@toolshelf/core'

type Fields = { readonly [name: string]: string }

export const exampleTools: readonly Tool[] = [
  builtIn('Read', 'Reads a file and returns its text with line numbers.', { path: 'Path of the file' }),
  builtIn('Write', 'Writes a file, making its folder when needed.', {
    path: 'Path of the file',
    text: 'All of it',
  }),
  builtIn('Bash', 'Runs a shell command and returns what it printed.', { command: 'The command line' }),
  {
    ...builtIn('WebFetch', 'Fetches a page and returns its text.', { url: 'Address of the page' }),
    shouldDefer: true,
  },
  ...server('github', 'repository', [
    ...verbs('issue', { title: 'One line', body: 'Markdown', labels: 'Names, comma separated' }),
    ...verbs('pull request', {
      title: 'One line',
      head: 'Branch with the change',
      base: 'Branch to merge into',
    }),
    ...verbs('branch', { name: 'Name of the branch', from: 'Where it starts' }),
    ...verbs('release', { tag: 'Version tag', notes: 'What is new' }),
    ...verbs('workflow run', { workflow: 'File name of the workflow', ref: 'Branch or tag' }),
    ...verbs('discussion', { category: 'Where it belongs', title: 'One line', body: 'Markdown' }),
  ]),
  ...server('slack', 'workspace', [
    ...verbs('message', {
      channel: 'Name or id of the channel',
      text: 'What to say',
      thread: 'Message to answer',
    }),
    ...verbs('channel', { name: 'Name of the channel', topic: 'What it is about' }),
    ...verbs('reminder', { when: 'Time or date', text: 'What to remember' }),
    ...verbs('bookmark', { channel: 'Name or id of the channel', link: 'Address' }),
  ]),
  ...server('jira', 'project', [
    ...verbs('ticket', { summary: 'One line', description: 'Text', assignee: 'Account name' }),
    ...verbs('sprint', { name: 'Name of the sprint', goal: 'What it is for' }),
    ...verbs('epic', { name: 'Name of the epic', summary: 'One line' }),
    ...verbs('worklog', { ticket: 'Key of the ticket', spent: 'Time spent', comment: 'What was done' }),
    ...verbs('component', { name: 'Name of the component', lead: 'Account name' }),
  ]),
]

function builtIn(name: string, description: string, fields: Fields): Tool {
  return { name, description, input_schema: schema(fields) }
}

function verbs(object: string, fields: Fields) {
  const name = object.replaceAll(' ', '_')
  return [
    {
      name: `create_${name}`,
      description: `Creates a new ${object} and returns its id and address.`,
      fields,
    },
    {
      name: `update_${name}`,
      description: `Changes an existing ${object}; fields left out stay as they are.`,
      fields,
    },
    {
      name: `get_${name}`,
      description: `Returns one ${object} with all its fields.`,
      fields: { id: `Id of the ${object}` },
    },
    {
      name: `list_${name}s`,
      description: `Lists every ${object} that fits the filters, newest first, in pages.`,
      fields: {
        query: 'Words to look for',
        state: 'Only those in this state',
        limit: 'How many at most',
        page: 'Page number',
      },
    },
    {
      name: `delete_${name}`,
      description: `Deletes a ${object} for good.`,
      fields: { id: `Id of the ${object}` },
    },
  ]
}

function server(name: string, place: string, tools: ReturnType<typeof verbs>): Tool[] {
  return tools.map((tool) => ({
    name: tool.name,
    server: name,
    description: `${tool.description} Works on the ${place} that the server is connected to.`,
    input_schema: schema({ [place]: `Name of the ${place}`, ...tool.fields }),
  }))
}

function schema(fields: Fields) {
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, description]) => [name, { type: 'string', description }]),
  )
  return {
    type: 'object',
    properties,
    required: Object.keys(fields).slice(0, 1),
    additionalProperties: false,
  }
}
