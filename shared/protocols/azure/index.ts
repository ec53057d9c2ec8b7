import { openai } from '#shared/protocols/openai/index.ts'
import type { Protocol } from '#shared/protocols/protocol.ts'
import { responses } from '#shared/protocols/responses/index.ts'

/**
 * Chat completions and their kin at a resource of Azure, under the paths of its first version. The model's name is that of a
 * deployment, and the resource's list of models is of its region, not of its deployments.
 */
export const azure: Protocol = { ...atResource(openai), jobs: {} }

/** OpenAI's responses at a resource of Azure. */
export const azureResponses: Protocol = atResource(responses)

function atResource({ listing: _, ...spoken }: Protocol): Protocol {
  return {
    ...spoken,
    authorize(headers, key) {
      headers.push('api-key', key)
    },
  }
}
