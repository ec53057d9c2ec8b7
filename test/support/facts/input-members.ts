import { readdirSync } from 'node:fs'
import { z } from 'zod'

/** A member of an input, at any depth, and its schema. A list is represented by its first item. */
export type Member = { readonly path: readonly (string | number)[]; readonly schema: z.ZodType }

const SERVICES = new URL('../../../control-plane/services/', import.meta.url)
const isSchema = (value: unknown): value is z.ZodType => value instanceof z.ZodType
const Known = z.object({
  name: z.string(),
  summary: z.string(),
  about: z.string().optional(),
  example: z.record(z.string(), z.unknown()).optional(),
  access: z.string(),
  limit: z.string(),
  isAudited: z.boolean().optional(),
  run: z.unknown(),
  input: z.custom<z.ZodType>(isSchema),
})
export type KnownOperation = z.infer<typeof Known>

/** Every operation of the services by its name. */
export async function readOperations(): Promise<ReadonlyMap<string, KnownOperation>> {
  const files = readdirSync(SERVICES, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const modules: object[] = await Promise.all(files.map((name) => import(new URL(name, SERVICES).href)))
  const found = modules.flatMap((module) => Object.values(module)).map((value) => Known.safeParse(value).data)
  return new Map(found.flatMap((operation) => (operation === undefined ? [] : [[operation.name, operation] as const])))
}

/** Every member of an input with a value of its own: neither an object nor a list. */
export function membersOf(schema: z.ZodType, path: Member['path'] = [], whole: z.ZodType = schema): Member[] {
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([name, part]) =>
      isSchema(part) ? membersOf(part, [...path, name]) : [],
    )
  }
  if (schema instanceof z.ZodArray && isSchema(schema.element)) return membersOf(schema.element, [...path, 0])
  if (schema instanceof z.ZodUnion) {
    const options = schema.options.filter(isSchema)
    const isOfParts = options.some((option) => option instanceof z.ZodObject || option instanceof z.ZodArray)
    if (isOfParts) return options.flatMap((option) => membersOf(option, path))
  }
  const inner = innerOf(schema)
  return inner === undefined ? [{ path, schema: whole }] : membersOf(inner, path, whole)
}

/** The inner schema of a schema that only adds to it. */
function innerOf(schema: z.ZodType): z.ZodType | undefined {
  const { def } = schema
  const inner = 'innerType' in def ? def.innerType : 'in' in def ? def.in : 'left' in def ? def.left : undefined
  return isSchema(inner) ? inner : undefined
}

/** The input with one member set. Missing objects and lists on the way to the member are created. */
export function withMember(input: unknown, [name, ...rest]: Member['path'], value: unknown): unknown {
  if (name === undefined) return value
  const within =
    typeof input === 'object' && input !== null ? new Map(Object.entries(input)).get(String(name)) : undefined
  const part = withMember(within, rest, value)
  if (typeof name === 'number') return [part]
  // A literal `__proto__` would set no member.
  return Object.fromEntries([...Object.entries(input ?? {}).filter(([other]) => other !== name), [name, part]])
}

/** A value that a schema accepts, where a plain value does. */
export function sampleOf(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodObject) {
    const needed = Object.entries(schema.shape).filter(
      ([, part]) => isSchema(part) && !part.safeParse(undefined).success,
    )
    return Object.fromEntries(needed.map(([name, part]) => [name, isSchema(part) ? sampleOf(part) : undefined]))
  }
  const plain = ['x', 1, true, [], {}, 'test', 'gpt-test', '1.5', `0x${'1'.repeat(40)}`, 'https://test.example']
  const words =
    schema instanceof z.ZodEnum ? schema.options : schema instanceof z.ZodArray ? [[sampleOf(itemOf(schema))]] : []
  return [...words, ...plain].find((value) => schema.safeParse(value).success)
}

function itemOf({ element }: z.ZodArray): z.ZodType {
  return isSchema(element) ? element : z.never()
}
