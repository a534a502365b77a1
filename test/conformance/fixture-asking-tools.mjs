// The tools of the conformance suite that ask the client something before they answer.
import { acceptedContent, inputRequired, inputResponse } from '@modelcontextprotocol/server'

export const noArguments = { type: 'object', properties: {} }
export const text = (value) => ({ content: [{ type: 'text', text: value }] })

/** In the newer era each request says what the client can do, in the older one the handshake did. */
export function clientCapabilities(context, server) {
  return (
    context.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ??
    server.getClientCapabilities() ??
    {}
  )
}

const form = (message, properties, required = Object.keys(properties)) =>
  inputRequired.elicit({ message, requestedSchema: { type: 'object', properties, required } })
const nameQuestion = form('What is your name?', { name: { type: 'string' } })
const sample = (words, maxTokens) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: words } }],
    maxTokens,
  })

const options = ['option1', 'option2', 'option3']
const titled = (noun) =>
  ['First', 'Second', 'Third'].map((title, index) => ({
    const: `value${index + 1}`,
    title: `${title} ${noun}`,
  }))

export const askingTools = [
  asking('test_sampling', { prompt: { type: 'string' } }, ({ context, input }) => {
    const answer = inputResponse(context.mcpReq.inputResponses, 'sample')
    if (answer.kind !== 'sampling')
      return inputRequired({ inputRequests: { sample: sample(input.prompt, 100) } })
    return text(`LLM response: ${textOf(answer.result)}`)
  }),
  asking('test_elicitation', { message: { type: 'string' } }, ({ context, input }) =>
    elicit(
      context,
      'User response',
      form(input.message, {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      }),
    ),
  ),
  asking('test_streaming_elicitation', {}, ({ context }) => elicit(context, 'User response', nameQuestion)),
  asking('test_elicitation_sep1034_defaults', {}, ({ context }) =>
    elicit(
      context,
      'Elicitation completed',
      form(
        'Please check these values',
        {
          name: { type: 'string', default: 'John Doe' },
          age: { type: 'integer', default: 30 },
          score: { type: 'number', default: 95.5 },
          status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
          verified: { type: 'boolean', default: true },
        },
        [],
      ),
    ),
  ),
  asking('test_elicitation_sep1330_enums', {}, ({ context }) =>
    elicit(
      context,
      'Elicitation completed',
      form(
        'Please choose',
        {
          untitledSingle: { type: 'string', enum: options },
          titledSingle: { type: 'string', oneOf: titled('Option') },
          legacyEnum: {
            type: 'string',
            enum: ['opt1', 'opt2', 'opt3'],
            enumNames: ['Option One', 'Option Two', 'Option Three'],
          },
          untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
          titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
        },
        [],
      ),
    ),
  ),
  asking('test_input_required_result_elicitation', {}, ({ context }) => {
    const answer = acceptedContent(context.mcpReq.inputResponses, 'user_name')
    if (typeof answer?.name !== 'string') return inputRequired({ inputRequests: { user_name: nameQuestion } })
    return text(`Hello, ${answer.name}!`)
  }),
  asking('test_input_required_result_sampling', {}, ({ context }) => {
    const answer = inputResponse(context.mcpReq.inputResponses, 'capital_question')
    if (answer.kind !== 'sampling')
      return inputRequired({
        inputRequests: { capital_question: sample('What is the capital of France?', 100) },
      })
    return text(textOf(answer.result))
  }),
  asking('test_input_required_result_list_roots', {}, ({ context }) => {
    const answer = inputResponse(context.mcpReq.inputResponses, 'client_roots')
    if (answer.kind !== 'roots')
      return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
    return text(answer.roots.map(({ uri }) => uri).join(', '))
  }),
  asking('test_input_required_result_request_state', {}, ({ context, states }) =>
    confirm(context, states, 'state-ok'),
  ),
  asking('test_input_required_result_tampered_state', {}, ({ context, states }) =>
    confirm(context, states, 'The state is as I sent it.'),
  ),
  asking('test_input_required_result_multiple_inputs', {}, askThreeThings),
  asking('test_input_required_result_multi_round', {}, askTwice),
  asking('test_input_required_result_capabilities', {}, ({ context, server }) => {
    const can = clientCapabilities(context, server)
    const inputRequests = {
      ...(can.elicitation && { user_name: nameQuestion }),
      ...(can.sampling && { greeting: sample('Generate a greeting', 50) }),
      ...(can.roots && { client_roots: inputRequired.listRoots() }),
    }
    const isAnswered = Object.keys(context.mcpReq.inputResponses ?? {}).length > 0
    return isAnswered || Object.keys(inputRequests).length === 0
      ? text('Nothing more to ask.')
      : inputRequired({ inputRequests })
  }),
]

function asking(name, properties, run) {
  const inputSchema = { type: 'object', properties, required: Object.keys(properties) }
  return { name, description: `Fixture ${name}`, inputSchema, run }
}

function elicit(context, title, question) {
  const answer = inputResponse(context.mcpReq.inputResponses, 'question')
  if (answer.kind !== 'elicit') return inputRequired({ inputRequests: { question } })
  return text(`${title}: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`)
}

async function confirm(context, states, words) {
  if (context.mcpReq.requestState() !== undefined && context.mcpReq.inputResponses?.confirm)
    return text(words)
  return inputRequired({
    inputRequests: { confirm: form('Please confirm', { ok: { type: 'boolean' } }) },
    requestState: await states.mint({ asked: 'confirm' }),
  })
}

async function askThreeThings({ context, states }) {
  const answers = context.mcpReq.inputResponses ?? {}
  const inputRequests = {
    user_name: nameQuestion,
    greeting: sample('Generate a greeting', 50),
    client_roots: inputRequired.listRoots(),
  }
  if (Object.keys(inputRequests).every((key) => answers[key])) return text('All three were answered.')
  return inputRequired({ inputRequests, requestState: await states.mint({ asked: 'three things' }) })
}

async function askTwice({ context, states }) {
  const state = context.mcpReq.requestState()
  const answers = context.mcpReq.inputResponses
  const name = acceptedContent(answers, 'step1')?.name
  if (state?.name !== undefined) {
    const color = acceptedContent(answers, 'step2')?.color
    if (color !== undefined) return text(`${state.name} likes ${color}.`)
  }
  const known = state?.name ?? name
  return inputRequired(
    known === undefined
      ? {
          inputRequests: { step1: form('Step 1: What is your name?', { name: { type: 'string' } }) },
          requestState: await states.mint({ step: 1 }),
        }
      : {
          inputRequests: {
            step2: form('Step 2: What is your favorite color?', { color: { type: 'string' } }),
          },
          requestState: await states.mint({ step: 2, name: known }),
        },
  )
}

function textOf(message) {
  const content = Array.isArray(message.content) ? message.content[0] : message.content
  return content?.type === 'text' ? content.text : JSON.stringify(content)
}
