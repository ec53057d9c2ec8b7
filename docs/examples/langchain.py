# pip install langchain-openai
import os
from langchain_openai import ChatOpenAI

model = ChatOpenAI(
    model="gpt-5-mini",
    base_url=os.environ["MARKET_URL"] + "/v1",
    api_key=os.environ["MARKET_KEY"],
)
print(model.invoke("Say hello.").content)
