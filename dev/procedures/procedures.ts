import { z } from 'zod'
import { appRouter } from '#control-plane/api/trpc/router.ts'

const Definition = z.object({
  type: z.enum(['query', 'mutation']),
  meta: z.object({ summary: z.string(), about: z.string().optional() }),
})

/** The tRPC procedures in order of name, with the texts of their operations. */
export function readProcedures() {
  return Object.entries(appRouter._def.procedures)
    .map(([name, procedure]) => {
      const { type, meta } = definitionOf(procedure)
      return { name, type, words: meta }
    })
    .sort((left, right) => (left.name < right.name ? -1 : 1))
}

/** The router's types nest procedures by name; at run time it has one flat list of functions. */
function definitionOf(procedure: unknown) {
  return Definition.parse(typeof procedure === 'function' && '_def' in procedure ? procedure._def : undefined)
}

/** The text of the file from which the command line takes the texts of operations, because it loads none of them. */
export function procedureWords(): string {
  const words = Object.fromEntries(readProcedures().map(({ name, words }) => [name, words]))
  return `${JSON.stringify(words, null, 2)}\n`
}
