import { z } from 'zod'

/** A JSON Schema, as far as the pages read it. */
export type Schema = Readonly<Record<string, unknown>>
const SchemaRecord = z.record(z.string(), z.unknown())

const Content = z.record(
  z.string(),
  z.object({
    schema: SchemaRecord.default({}),
    examples: z.record(z.string(), z.object({ value: z.unknown() })).default({}),
  }),
)
const Parameter = z.object({
  name: z.string(),
  in: z.enum(['path', 'query', 'header']),
  required: z.boolean().default(false),
  description: z.string().default(''),
  schema: SchemaRecord,
  example: z.unknown().optional(),
})
const Answer = z.object({
  description: z.string(),
  headers: z.record(z.string(), z.unknown()).default({}),
  content: Content.default({}),
})
const Operation = z.object({
  operationId: z.string(),
  tags: z.array(z.string()),
  summary: z.string(),
  description: z.string().default(''),
  security: z.array(z.record(z.string(), z.unknown())),
  parameters: z.array(Parameter),
  requestBody: z.object({ required: z.boolean(), content: Content }).optional(),
  responses: z.record(z.string(), z.union([z.object({ $ref: z.string() }), Answer])),
})
export type DescribedOperation = z.infer<typeof Operation>

/** The description of the doors, as far as the pages show it. */
export const DescriptionSchema = z.object({
  info: z.object({ title: z.string(), version: z.string(), description: z.string() }),
  tags: z.array(z.object({ name: z.string(), description: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({
    schemas: z.record(z.string(), SchemaRecord),
    responses: z.record(z.string(), Answer),
    securitySchemes: z.record(z.string(), z.object({ description: z.string() })),
  }),
})
export type Description = z.infer<typeof DescriptionSchema>

/** An operation with its place. */
export type PlacedOperation = { readonly method: string; readonly path: string; readonly operation: DescribedOperation }
