// Exports of validate for other folders.
export { validateInput } from './validate.ts'
