// The demo's messages, and the script that answers instead of a model. The tools that it calls are real.
import { join } from 'node:path'
import { type ModelScript, readScript } from '@toolshelf/messages/internal'

/** The user's messages. */
export const DEMO_PROMPTS: readonly string[] = [
  'Write down in notes.md: the launch is on Friday, Ada leads it.',
  'Remember that Ada leads the launch, for all later sessions.',
  'Ask get-sum: the budget has 1250 for the venue and 380 for food. What is the sum?',
  'What do the notes say, and what do you remember about Ada?',
]

/** Returns the script. Each of its answers needs tools that the model cannot see at first. */
export function demoScript(folder: string): ModelScript {
  const notes = join(folder, 'notes.md')
  const content = '# Launch\n- on Friday\n- led by Ada\n'
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['leads the launch'] }]
  return readScript({
    rules: [
      {
        when: 'Write down',
        do: [
          { say: 'I need a tool that writes files.' },
          { call: 'mcp__filesystem__write_file', input: { path: notes, content }, search: 'write file' },
          { say: 'Done: the notes are in notes.md.' },
        ],
      },
      {
        when: 'Remember that',
        do: [
          {
            call: 'mcp__memory__create_entities',
            input: { entities },
            search: 'remember facts knowledge graph create',
          },
          { say: 'I will remember that Ada leads the launch.' },
        ],
      },
      {
        when: 'What is the sum',
        do: [
          { call: 'mcp__everything__get-sum', input: { a: 1250, b: 380 }, search: 'add two numbers' },
          { say: 'That makes 1630.' },
        ],
      },
      {
        when: 'What do the notes say',
        do: [
          {
            calls: [
              { call: 'mcp__filesystem__read_text_file', input: { path: notes }, search: 'read text file' },
              {
                call: 'mcp__memory__search_nodes',
                input: { query: 'Ada' },
                search: 'search knowledge graph',
              },
            ],
          },
          { say: 'The notes say that the launch is on Friday. I remember that Ada leads it.' },
        ],
      },
    ],
  })
}
