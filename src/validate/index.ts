// The door of validate: what other folders use of it.
export { validateInput } from './validate.ts'
