import { writeFileSync } from 'node:fs'
import { procedureWords } from './procedures.ts'

/** Writes `control-plane/cli/procedure-words.json` from the operations behind the tRPC door. */
writeFileSync(new URL('../../control-plane/cli/procedure-words.json', import.meta.url), procedureWords())
