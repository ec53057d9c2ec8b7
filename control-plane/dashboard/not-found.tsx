import { Link } from '@tanstack/react-router'
import { Page } from './ui/page.tsx'

/** The screen of an address that leads to nothing. */
export function NotFound() {
  return (
    <Page title="Not found" about="This page does not exist, or you need to sign in to see it.">
      <p className="actions">
        <Link to="/" className="button" data-kind="primary">
          Go to the market
        </Link>
        <a href="/docs" className="button">
          Open the docs
        </a>
      </p>
    </Page>
  )
}
