# pip install openai
import os
from openai import OpenAI

client = OpenAI(base_url=os.environ["MARKET_URL"] + "/v1", api_key=os.environ["MARKET_KEY"])

answer = client.chat.completions.create(
    model="gpt-5-mini",
    messages=[{"role": "user", "content": "Say hello."}],
)
print(answer.choices[0].message.content)
print("cost:", answer.usage.buyer_cost_micro, "micro-USD")
