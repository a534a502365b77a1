// The prompts of the conformance suite. The fixture may gain one while it runs: `addPrompt`.
import { acceptedContent, inputRequired } from '@modelcontextprotocol/server'
import { png } from './fixture-media.mjs'

const user = (content) => ({ role: 'user', content })
const text = (value) => user({ type: 'text', text: value })

export const prompts = [
  {
    name: 'test_simple_prompt',
    description: 'A prompt without arguments',
    get: () => ({ messages: [text('This is a simple prompt for testing.')] }),
  },
  {
    name: 'test_prompt_with_arguments',
    description: 'A prompt with two arguments',
    arguments: [
      { name: 'arg1', description: 'First test argument', required: true },
      { name: 'arg2', description: 'Second test argument', required: true },
    ],
    get: ({ arg1, arg2 }) => ({ messages: [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }),
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A prompt that holds a resource',
    arguments: [{ name: 'resourceUri', description: 'URI of the resource to embed', required: true }],
    get: ({ resourceUri }) => ({
      messages: [
        user({
          type: 'resource',
          resource: {
            uri: resourceUri,
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          },
        }),
        text('Please process the embedded resource above.'),
      ],
    }),
  },
  {
    name: 'test_prompt_with_image',
    description: 'A prompt that holds a picture',
    get: () => ({
      messages: [
        user({ type: 'image', data: png, mimeType: 'image/png' }),
        text('Please analyze the image above.'),
      ],
    }),
  },
  {
    name: 'test_input_required_result_prompt',
    description: 'A prompt that asks before it answers',
    get: (_input, context) => {
      const answer = acceptedContent(context.mcpReq.inputResponses, 'user_context')
      return answer === undefined
        ? inputRequired({ inputRequests: { user_context: contextQuestion } })
        : { messages: [text(`Context: ${answer.context}`)] }
    },
  },
]

const contextQuestion = inputRequired.elicit({
  message: 'What context should the prompt use?',
  requestedSchema: { type: 'object', properties: { context: { type: 'string' } }, required: ['context'] },
})

export function addPrompt(name) {
  prompts.push({ name, description: 'Came later', get: () => ({ messages: [text(name)] }) })
}
