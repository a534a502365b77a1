// Exports of the capability sources. A separate folder, so that the types of the package's entry need no types of Node.

export { capabilitiesFromFile, capabilitiesFromUrl, keepCapabilitiesFresh } from './source.ts'
