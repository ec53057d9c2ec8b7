import type {
  DocumentNode,
  FragmentDefinitionNode,
  GraphQLSchema,
  ParseOptions,
  SelectionSetNode,
  Source,
  ValidationContext,
  ValidationRule,
} from 'graphql'
import { GraphQLError, Kind, parse, validate } from 'graphql'

/** Bounds of a document, independent of its cost. They are checked before anything runs. */
export const DOCUMENT_LIMITS = {
  bytes: 16_384,
  tokens: 1_000,
  depth: 8,
  aliases: 15,
  rootFields: 10,
  directives: 20,
  /** Most fields of one selection with the same name in the answer. The library compares each with each. */
  repeats: 10,
  /** Most errors of a document that its answer lists. The library searches for similar names for each error. */
  errors: 10,
} as const

/** Makes the refusal of a whole document. */
export function refuseDocument(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'invalid_request', status: 400, http: { status: 400 } } })
}

/** Parses a document of bounded length. Throws GraphQLError. */
export function parseDocument(source: string | Source, options?: ParseOptions): DocumentNode {
  try {
    return parse(source, { ...options, maxTokens: DOCUMENT_LIMITS.tokens })
  } catch (error) {
    throw error instanceof GraphQLError ? refuseDocument(error.message) : error
  }
}

/**
 * Validates a document. A document over its limits is checked for nothing else, because some rules of the library take
 * quadratic time.
 */
export function validateDocument(
  schema: GraphQLSchema,
  document: DocumentNode,
  rules: readonly ValidationRule[],
): readonly GraphQLError[] {
  const over = validate(schema, document, [limitDocument])
  return over.length > 0 ? over : validate(schema, document, rules, { maxErrors: DOCUMENT_LIMITS.errors })
}

/**
 * Bounds depth, root fields, aliases and directives. A fragment is a level of its own, and its content counts at each
 * spread.
 */
export const limitDocument: ValidationRule = (context) => {
  let aliases = 0
  let directives = 0
  return {
    Field(node) {
      if (node.alias !== undefined && ++aliases === DOCUMENT_LIMITS.aliases + 1) {
        context.reportError(refuseDocument(`A document must have at most ${DOCUMENT_LIMITS.aliases} aliases.`))
      }
    },
    SelectionSet(node) {
      if (mostRepeats(node) > DOCUMENT_LIMITS.repeats) {
        context.reportError(
          refuseDocument(`A selection may have at most ${DOCUMENT_LIMITS.repeats} fields of one name.`),
        )
      }
    },
    Directive() {
      if (++directives === DOCUMENT_LIMITS.directives + 1) {
        context.reportError(refuseDocument(`A document must have at most ${DOCUMENT_LIMITS.directives} directives.`))
      }
    },
    OperationDefinition(node) {
      const measuredMeasure = measure(context, node.selectionSet)
      if (measuredMeasure.depth > DOCUMENT_LIMITS.depth) {
        context.reportError(refuseDocument(`A query must be at most ${DOCUMENT_LIMITS.depth} levels deep.`))
      }
      if (measuredMeasure.fields > DOCUMENT_LIMITS.rootFields) {
        context.reportError(refuseDocument(`An operation must have at most ${DOCUMENT_LIMITS.rootFields} root fields.`))
      }
    },
  }
}

function mostRepeats({ selections }: SelectionSetNode): number {
  const counts = new Map<string, number>()
  for (const part of selections) {
    if (part.kind !== Kind.FIELD) continue
    const name = (part.alias ?? part.name).value
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return Math.max(0, ...counts.values())
}

type Measure = { readonly depth: number; readonly fields: number }

/**
 * Measures the depth below a selection and the number of its top fields. Each fragment is measured once, so that many
 * spreads stay cheap.
 */
function measure(context: ValidationContext, root: SelectionSetNode): Measure {
  const measures = new Map<FragmentDefinitionNode, Measure>()

  function ofSelection(selection: SelectionSetNode): Measure {
    let depth = 0
    let fields = 0
    for (const part of selection.selections) {
      if (part.kind === Kind.FIELD) {
        fields++
        // Introspection nests deeper, and costs nothing but bytes.
        const below = part.selectionSet && !part.name.value.startsWith('__') ? ofSelection(part.selectionSet).depth : 0
        depth = Math.max(depth, 1 + below)
        continue
      }
      const spread = part.kind === Kind.INLINE_FRAGMENT ? ofSelection(part.selectionSet) : ofFragment(part.name.value)
      depth = Math.max(depth, 1 + spread.depth)
      fields += spread.fields
    }
    return { depth, fields }
  }

  function ofFragment(name: string): Measure {
    const fragment = context.getFragment(name)
    if (!fragment) return { depth: 0, fields: 0 }
    const before = measures.get(fragment)
    if (before !== undefined) return before
    // A different rule refuses a fragment that spreads itself. This measure only has to end.
    measures.set(fragment, { depth: 0, fields: 0 })
    const measured = ofSelection(fragment.selectionSet)
    measures.set(fragment, measured)
    return measured
  }

  return ofSelection(root)
}
