import type { ErrorComponentProps } from '@tanstack/react-router'
import { Page } from './ui/page.tsx'
import { ErrorNotice } from './ui/states.tsx'

/** The screen in place of one that failed. */
export function Broken({ error, reset }: ErrorComponentProps) {
  return (
    <Page title="This screen failed">
      <ErrorNotice error={error instanceof Error ? error : new Error(String(error))} onRetry={reset} />
    </Page>
  )
}
