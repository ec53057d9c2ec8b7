import { readdirSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Telemetry } from '#control-plane/ports/telemetry/telemetry.ts'
import { lineOf } from '#control-plane/services/view-fields.ts'

const SERVICES = new URL('../../../control-plane/services/', import.meta.url)
const Named = z.object({
  name: z.string(),
  access: z.string(),
  run: z.unknown(),
  output: z.custom<z.ZodType>((value) => value instanceof z.ZodType),
})

type Described = { readonly name: string; readonly output: z.ZodType }

/** The outputs of all operations of the services and of `more`, by the operation's name. */
export async function readOutputs(more: readonly Described[] = []): Promise<ReadonlyMap<string, z.ZodType>> {
  const files = readdirSync(SERVICES, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const modules: object[] = await Promise.all(files.map((name) => import(new URL(name, SERVICES).href)))
  const found = modules.flatMap((module) => Object.values(module)).map((value) => Named.safeParse(value).data)
  const all = [...found, ...more].flatMap((operation) => (operation === undefined ? [] : [operation]))
  return new Map(all.map(({ name, output }) => [name, output]))
}

/** Finds a member of an answer that its schema lacks or describes differently. Undefined when the answer fits. */
export function outputFault(schema: z.ZodType, answer: unknown): string | undefined {
  const parsed = schema.safeParse(answer)
  if (!parsed.success) return z.prettifyError(parsed.error)
  // A schema drops unknown members, so an extra member makes a difference here.
  return isDeepStrictEqual(parsed.data, answer) ? undefined : `beyond its schema: ${membersOf(answer)}`
}

/** Checks every answer of a plane against the output of its operation and collects the faults. */
export function holdToOutputs(
  telemetry: Telemetry,
  outputs: ReadonlyMap<string, z.ZodType>,
  faults: string[],
): Telemetry {
  const check = (name: string, schema: z.ZodType, answer: unknown) => {
    const fault = outputFault(schema, answer)
    if (fault !== undefined) faults.push(`${name}: ${fault}`)
  }
  return {
    ...telemetry,
    operation: async (name, work) => {
      const answer = await telemetry.operation(name, work)
      const schema = outputs.get(name)
      if (schema === undefined) faults.push(`${name} is no operation of the services`)
      else {
        check(name, schema, answer)
        watchLines(schema, answer, (line, value) => check(`${name}, a line`, line, value))
      }
      return answer
    },
  }
}

/** Checks each line of an answer that is a stream or contains one, on its way to the reader. */
function watchLines(schema: z.ZodType, answer: unknown, see: (line: z.ZodType, value: unknown) => void): void {
  if (typeof answer !== 'object' || answer === null) return
  const line = lineOf(schema)
  if (line !== undefined && Symbol.asyncIterator in answer) {
    const lines = z.custom<AsyncIterable<unknown>>().parse(answer)
    const iterator = lines[Symbol.asyncIterator]()
    const value = async function* watched() {
      for await (const each of { [Symbol.asyncIterator]: () => iterator }) {
        see(line, each)
        yield each
      }
    }
    Object.defineProperty(answer, Symbol.asyncIterator, { value })
  }
  if (!(schema instanceof z.ZodObject)) return
  const parts = new Map(Object.entries(answer))
  for (const [name, part] of Object.entries(schema.shape)) {
    if (part instanceof z.ZodType) watchLines(part, parts.get(name), see)
  }
}

function membersOf(answer: unknown): string {
  const plain = (_name: string, part: unknown) => (typeof part === 'bigint' ? part.toString() : part)
  return JSON.stringify(answer, plain).slice(0, 400)
}
