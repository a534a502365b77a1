// The door for what needs Node: results on disk, and capability tables from files and through proxies.

export { capabilitiesFromFile, capabilitiesFromUrl } from './node/capabilities.ts'
export { createDiskResults } from './node/disk-results.ts'
