import { rmSync, writeFileSync } from 'node:fs'
import { procedureWords } from './procedures.ts'

const ROOT = new URL('../../', import.meta.url)

/** Writes `control-plane/cli/procedure-words.json` from the operations behind tRPC. */
writeFileSync(new URL('control-plane/cli/procedure-words.json', ROOT), procedureWords())
// The compiler's notes of its last run hide that a JSON file has changed.
rmSync(new URL('dist/tsc.tsbuildinfo', ROOT), { force: true })
