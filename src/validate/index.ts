// The door of validate: what other folders use of it.
export { validate } from './validate.ts'
