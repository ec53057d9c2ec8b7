import { FORWARD_ROUTES } from './forward-wires.ts'
import { IMAGE_ROUTES } from './image-wires.ts'
import { MEDIA_ROUTES } from './media-wires.ts'
import { READ_ROUTES } from './reads.ts'
import { RESOURCE_READS } from './resource-reads.ts'
import type { DataRoute } from './route.ts'
import { TEXT_ROUTES } from './text-wires.ts'

/** Every path of the data plane. A test compares them with its rows. */
export const DATA_ROUTES: readonly DataRoute[] = [
  ...TEXT_ROUTES,
  ...IMAGE_ROUTES,
  ...MEDIA_ROUTES,
  ...FORWARD_ROUTES,
  ...READ_ROUTES,
  ...RESOURCE_READS,
]
