import type { DocumentNode } from 'graphql'
import { getOperationAST, Kind } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { GraphQLDocument, Telemetry } from '#control-plane/ports/telemetry/telemetry.ts'

/** Counts documents by kind and first field. Both are names of the schema, never the caller's own. */
export function countDocuments(telemetry: Telemetry): Plugin {
  return {
    onValidate:
      () =>
      ({ valid }) => {
        if (!valid) telemetry.document({ type: 'refused', field: '' }, false)
      },
    onExecute: ({ args: { document, operationName } }) => {
      const what = describe(document, operationName)
      return {
        onExecuteDone({ result }) {
          telemetry.document(what, !('errors' in result))
        },
      }
    },
    onSubscribe: ({ args: { document, operationName } }) => {
      telemetry.document(describe(document, operationName), true)
    },
  }
}

function describe(document: DocumentNode, operationName: string | null | undefined): GraphQLDocument {
  const operation = getOperationAST(document, operationName)
  const first = operation?.selectionSet.selections[0]
  const field = first?.kind === Kind.FIELD ? first.name.value : 'fragment'
  return { type: operation?.operation ?? 'refused', field }
}
