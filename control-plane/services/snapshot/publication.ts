import type { Publication } from '#control-plane/ports/publisher/publication.ts'
import { offersDocumentName } from '#shared/contract/snapshot.ts'
import type { PublishCtx } from './publish-documents.ts'
import { isSnapshotWhole, publishChanged, reconcileSnapshot } from './publish-documents.ts'
import { createPublishLane } from './publish-lane.ts'

/** Creates the publication of a process, with a lane for changed offers. */
export function createPublication(ctx: PublishCtx): Publication {
  const publishSoon = async (names: readonly string[]) => {
    try {
      await publishChanged(ctx, names)
    } catch (error) {
      ctx.log.warn({ err: error, documents: names }, 'a change is published later')
    }
  }
  return {
    publishSoon,
    publishOffers: createPublishLane(ctx.clock, (models) => publishSoon(models.map(offersDocumentName))),
    publishChanged: (names) => publishChanged(ctx, names),
    reconcile: () => reconcileSnapshot(ctx),
    isWhole: () => isSnapshotWhole(ctx),
  }
}

/** Wraps a publication so that changes wait until `reconcile` publishes them. */
export function holdPublication(publication: Publication): Publication {
  return { ...publication, publishSoon: async () => undefined, publishOffers: async () => undefined }
}
