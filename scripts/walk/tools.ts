// The tools of the walks: sixty that do nearly the same.
export const sendTools = Array.from({ length: 60 }, (_, index) => ({
  name: `tool_${index}_send_message`,
  description: `Sends message number ${index} to a channel`,
  input_schema: {
    type: 'object' as const,
    properties: { text: { type: 'string' }, count: { type: 'integer' } },
    required: ['text'],
  },
}))
