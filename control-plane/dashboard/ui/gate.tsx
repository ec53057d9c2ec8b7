import type { ReactNode } from 'react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { isPassing } from '#control-plane/dashboard/data/client.ts'
import type { PageSide } from '#control-plane/dashboard/data/session.tsx'
import { isOfSide, useViewer } from '#control-plane/dashboard/data/session.tsx'
import { Page } from './page.tsx'
import { ErrorNotice, Notice, SignInBeside, SkeletonScreen } from './states.tsx'

/** Readers without access are few, so their screen is a script of its own. */
const Stranger = lazy(() => import('./stranger.tsx').then(({ Stranger: part }) => ({ default: part })))

/** True after a session ended by itself on this screen. A sign-out resets it. */
function useWasIn(side: PageSide): boolean {
  const viewer = useViewer()
  const [isShown, setShown] = useState(false)
  const isIn = isOfSide(viewer, side)
  const isOther = viewer.kind !== 'nobody' && !isIn
  useEffect(() => {
    if (isIn) setShown(true)
    else if (!viewer.isKnown || isOther) setShown(false)
  }, [isIn, isOther, viewer.isKnown])
  return isShown && viewer.isKnown && viewer.kind === 'nobody'
}

function Ended() {
  return (
    <div className="before-page">
      <Notice tone="bad">
        <span>This session has ended, or its key was revoked. What you typed is still here.</span>
        <SignInBeside />
      </Notice>
    </div>
  )
}

/**
 * Shows a screen to readers with access to it, and the sign-in to everybody else. Typed text stays when a session ends.
 */
export function Gate({
  side,
  title,
  children,
}: {
  readonly side: PageSide
  readonly title: string
  readonly children: ReactNode
}) {
  const viewer = useViewer()
  const wasIn = useWasIn(side)
  if (isOfSide(viewer, side) || wasIn) {
    return (
      <>
        {wasIn ? <Ended /> : null}
        {children}
      </>
    )
  }
  if (!viewer.isKnown) {
    return (
      <Page title={title}>
        {viewer.failure === null ? null : <ErrorNotice error={viewer.failure} onRetry={viewer.again} />}
        {viewer.failure === null || isPassing(viewer.failure) ? <SkeletonScreen /> : null}
      </Page>
    )
  }
  return (
    <Suspense fallback={<Page title={title}>{null}</Page>}>
      <Stranger side={side} title={title} />
    </Suspense>
  )
}
