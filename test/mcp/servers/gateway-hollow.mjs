// Declares resources and prompts, and has neither.
import { initialized, run, tool } from './wire.mjs'

export function server() {
  return {
    initialize: (params) => initialized(params, { resources: {}, prompts: {}, completions: {} }),
    'tools/list': () => ({ tools: [tool('nothing')] }),
  }
}

run(import.meta, server)
