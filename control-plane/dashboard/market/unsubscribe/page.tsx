import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call } from '#control-plane/dashboard/data/client.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'

/** The id of the alert and its token, as each e-mail of the alert has them. */
const ALERT = /^#alert=([\w-]+\/[\w-]+)$/

/** Ends an alert by e-mail, without a sign-in. */
export function UnsubscribePage() {
  const [alert, setAlert] = useState(() => ALERT.exec(location.hash)?.[1])
  const end = useMutation({ mutationFn: (id: string) => call('POST', `/v1/buyer/unsubscribe/${id}`, {}) })
  useEffect(() => {
    const read = () => setAlert(ALERT.exec(location.hash)?.[1])
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return (
    <Page title="Unsubscribe" about="Stop an alert by e-mail.">
      <Card title="Alert by e-mail">
        <div className="form">
          {alert === undefined ? (
            <Notice tone="warn">This link is not complete. Open the link at the end of the e-mail again.</Notice>
          ) : end.isSuccess ? (
            <Notice tone="good">You are unsubscribed. Switch the alert on again under Limits and alerts.</Notice>
          ) : (
            <>
              <p>We stop the e-mails of this alert. Your other alerts stay on.</p>
              {end.error === null ? null : <Notice tone="bad">{end.error.message}</Notice>}
              <div>
                <Button kind="primary" disabled={end.isPending} onClick={() => end.mutate(alert)}>
                  Unsubscribe
                </Button>
              </div>
            </>
          )}
        </div>
      </Card>
    </Page>
  )
}
