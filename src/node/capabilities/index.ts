// Public API of the capability sources: a folder of its own, so that the types of the package's entry need none of Node.

export { capabilitiesFromFile, capabilitiesFromUrl, keepCapabilitiesFresh } from './source.ts'
