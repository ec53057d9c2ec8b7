import { createRootRoute } from '@tanstack/react-router'
import { Broken } from './broken.tsx'
import { Frame } from './frame.tsx'
import { NotFound } from './not-found.tsx'

/** The route above all screens: the frame of the page. */
export const ROOT_ROUTE = createRootRoute({ component: Frame, notFoundComponent: NotFound, errorComponent: Broken })

/** The parent of a screen, as routes ask for it. */
export const rootRoute = () => ROOT_ROUTE
