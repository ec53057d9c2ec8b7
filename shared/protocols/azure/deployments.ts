import type { ImageCodec } from '#shared/protocols/image-codec.ts'
import type { ChatCodec, Deployment, Protocol } from '#shared/protocols/protocol.ts'

/** The last API version with a date. Deployments of every model answer to it. */
const USUAL_VERSION = '2025-04-01-preview'
const WITH_VERSION = /^([^?]+)\?api-version=([\w.-]{1,40})$/

/** Parses the name of a deployment. The API version may follow it, as in the URLs of Azure. */
function readDeployment(providerModel: string): Deployment {
  const [, name = providerModel, version = USUAL_VERSION] = WITH_VERSION.exec(providerModel) ?? []
  return { name, path: (path) => `/deployments/${encodeURIComponent(name)}${path}?api-version=${version}` }
}

/**
 * A protocol of OpenAI's at a resource of Azure, with the deployment's name in the path and the API version after it.
 */
export function atDeployments(spoken: Protocol): Protocol {
  const { probe, chat, images } = spoken
  // The protocol of tools with reasoning has another base URL, so no probe asks for both.
  const { withTool: _, ...own } = probe
  return {
    ...spoken,
    deployment: readDeployment,
    probe: { ...own, request: (model) => placed(model, (name) => probe.request(name)) },
    ...(chat !== undefined && { chat: { ...chat, encode: encoderOf(chat) } }),
    ...(images !== undefined && { images: (model) => placedImages(images(model)) }),
    jobs: {},
  }
}

function placed<Request extends { readonly path: string }>(
  providerModel: string,
  write: (name: string) => Request,
): Request {
  const { name, path } = readDeployment(providerModel)
  const request = write(name)
  return { ...request, path: path(request.path) }
}

type Planned = { readonly offer: { readonly providerModel: string } }

function placedPlan<Plan extends Planned, Request extends { readonly path: string }>(
  plan: Plan,
  write: (plan: Plan) => Request,
): Request {
  return placed(plan.offer.providerModel, (providerModel) =>
    write({ ...plan, offer: { ...plan.offer, providerModel } }),
  )
}

function encoderOf({ encode }: ChatCodec): ChatCodec['encode'] {
  return (conversation, plan) => placedPlan(plan, (placed) => encode(conversation, placed))
}

function placedImages(codec: ImageCodec): ImageCodec {
  const { form } = codec
  return {
    ...codec,
    encode: (ask, plan) => placedPlan(plan, (named) => codec.encode(ask, named)),
    ...(form !== undefined && { form: (ask, plan) => placedPlan(plan, (named) => form(ask, named)) }),
  }
}
